"""One page for one physician, for that physician alone."""
