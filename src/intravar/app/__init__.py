"""The app: from a file to the answer in a browser on this computer, without a shell.

A server on the loopback address shows one screen after the other. What takes long is done in other
processes: a measurement is the command `intravar measure`, everything else is asked of a helper.
"""
