"""Gives every namespace what its pods need to talk to the API: an account and the authority to trust."""

from longshore.controllers.serviceaccount.controller import run

__all__ = ["run"]
