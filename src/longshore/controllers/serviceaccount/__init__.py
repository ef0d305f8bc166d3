"""Gives every namespace a `default` service account and a ConfigMap with the CA certificate of the API."""

from longshore.controllers.serviceaccount.controller import run

__all__ = ["run"]
