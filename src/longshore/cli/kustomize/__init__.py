"""Kustomizations: files that change other manifests, for `apply -k`, with the results of kubectl kustomize.

A field that is not supported is an error that names it, so that nothing is left out in silence.
"""
