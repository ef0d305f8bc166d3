"""Controllers: each reads state through a client, decides purely, and acts through the client again.

None of them knows whether the client is in this process or speaks HTTP, nor how objects are stored.
"""
