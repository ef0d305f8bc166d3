"""The node: runs the pods bound to it as processes (or containers) of this machine.

`runtime.py` is the contract with the runtimes in `runtimes/`; everything else talks to the API through
`client` alone.
"""
