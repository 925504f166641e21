"""What is every physician's own: rules, camps of them, forests, and weights in words."""
