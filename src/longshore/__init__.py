"""The batch half of Kubernetes in one Python process."""

from longshore import late_modules

__version__ = "0.1.0"

late_modules.install()
