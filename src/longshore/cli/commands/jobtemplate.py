"""Makes, shows and deletes Volcano's JobTemplates, as `vcctl jobtemplate` does.

longshore jobtemplate create -f jobtemplates.yaml
longshore jobtemplate list --all-namespaces
longshore jobtemplate describe -N build -o json
"""

from __future__ import annotations

from longshore.cli.volcano import flows, vcctl

add_arguments, run = vcctl.command(flows.TEMPLATES.word, flows.TEMPLATES.verbs)
