"""The life of one pod on this node: what is remembered, what to do next (`decide`), and doing it (`act`)."""
