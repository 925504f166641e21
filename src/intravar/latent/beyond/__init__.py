"""Physicians beyond the sample: read one by one, by what was learned of those who were fitted.

Nothing common is learned here. What is said of a physician depends on the own panel and on what is
held in common, to the bit: not on who else is read, nor on the order of the rows, nor on names.
Whatever is summed up over a panel's patients is therefore summed in an order by content, panel by
panel, and whatever is drawn at random is drawn from a stream keyed by the panel's content.
"""
