"""Kustomizations give the objects, in the order, that `kubectl kustomize` gives."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from longshore.cli.kustomize import kustomize_build
from support import kubectl_binary

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: work, labels: {tier: back}, annotations: {a: b}}
spec:
  template:
    metadata: {labels: {old: label}}
    spec:
      serviceAccountName: worker
      restartPolicy: Never
      initContainers: [{name: first, image: "busybox:1"}]
      containers:
      - name: main
        image: nginx:1.0
        envFrom: [{configMapRef: {name: conf}}]
        env: [{name: P, valueFrom: {secretKeyRef: {name: sec, key: pw}}}, {name: Q, value: "1"}]
        ports: [{containerPort: 80}]
      - name: side
        image: reg.io:5000/busy/box@sha256:abcd
        command: [sleep, "1"]
      volumes:
      - {name: v, configMap: {name: conf}}
      - {name: p, projected: {sources: [{secret: {name: sec}}, {configMap: {name: conf}}]}}
      - {name: d, persistentVolumeClaim: {claimName: disk}}
"""
OTHERS = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: worker}
imagePullSecrets: [{name: sec}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: rb}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
subjects:
- {kind: ServiceAccount, name: worker, namespace: default}
- {kind: ServiceAccount, name: default, namespace: default}
- {kind: User, name: somebody}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [conf], verbs: [get]}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "* * * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: svc}
spec: {selector: {app: x}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: space}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: gang}
spec:
  tasks: [{name: t, replicas: 1, template: {spec: {containers: [{name: c, image: nginx}]}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: dep}
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: nginx}, {name: d, image: "nginx:5"}]}
"""
BASE = {
    "base/job.yaml": JOB,
    "base/others.yaml": OTHERS,
    "base/f.txt": "hello\nworld\n",
    "base/e.env": "# a comment\nX=1\n  Y=2 \nZ=\n\nNOTHING\n",
    "base/kustomization.yaml": """
resources: [job.yaml, others.yaml]
configMapGenerator:
- name: conf
  literals: [a=1, 'b="x y"', "c='q'", d=<&>, e=ü]
  files: [f.txt, key=f.txt]
  envs: [e.env]
secretGenerator:
- name: sec
  literals: [pw=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, s=1]
  options: {labels: {x: "y"}}
""",
}
WORK = "{apiVersion: batch/v1, kind: Job, metadata: {name: work}"


def patched(spec: str) -> str:
    return f"patches: [{{patch: '{WORK}, spec: {{template: {{spec: {spec}}}}}}}'}}]"


OVERLAYS = {
    "nothing": "",
    "namespace": "namespace: prod",
    "prefix and suffix": "namePrefix: p-\nnameSuffix: -s",
    "common labels": "labels: [{pairs: {app: mine}, includeSelectors: true}]",
    "labels": "labels: [{pairs: {app: mine}}, {pairs: {tpl: one}, includeTemplates: true}]",
    "annotations": "commonAnnotations: {note: hi}",
    "everything": """
namespace: prod
namePrefix: p-
nameSuffix: -s
commonAnnotations: {note: hi}
labels: [{pairs: {app: mine}, includeSelectors: true}]
images: [{name: nginx, newName: my/nginx, newTag: "2.0"}]
replicas: [{name: dep, count: 5}]
configMapGenerator: [{name: conf, behavior: merge, literals: [a=2, z=9]}]
""",
    "images": """
images:
- {name: nginx, newTag: "7"}
- {name: "reg.io:5000/busy/box", newName: other, digest: "sha256:ffff"}
- {name: busybox, newName: "reg:5000/b", newTag: "3", digest: "sha256:eeee"}
""",
    "a replaced ConfigMap": "configMapGenerator: [{name: conf, behavior: replace, literals: [n=1]}]",
    "options of generators": """
generatorOptions: {labels: {g: "1"}, annotations: {h: "2"}, disableNameSuffixHash: true}
configMapGenerator: [{name: own, literals: [a=1], options: {labels: {g: "3"}, immutable: true}}]
secretGenerator: [{name: tls, type: kubernetes.io/tls, literals: [tls.crt=a, tls.key=b]}]
""",
    "a patch of a variable": patched(
        "{containers: [{name: main, env: [{name: Q, value: x}, {name: R, value: z}]}]}"
    ),
    "a patch of the second container": patched("{containers: [{name: side, image: other}]}"),
    "a new container": patched("{containers: [{name: new, image: other}]}"),
    "a deleted container": patched("{containers: [{name: side, $patch: delete}]}"),
    "replaced containers": patched("{containers: [{name: only, image: i}, {$patch: replace}]}"),
    "a deleted field": patched("{serviceAccountName: null, volumes: [{name: v, $patch: delete}]}"),
    "a replaced map": patched("{securityContext: {$patch: replace, runAsUser: 1}}"),
    "a replaced list of words": patched("{containers: [{name: side, command: [a, b]}]}"),
    "a port": patched("{containers: [{name: main, ports: [{containerPort: 81, name: x}]}]}"),
    "labels by a patch": """
patches: [{patch: '{apiVersion: batch/v1, kind: Job, metadata: {name: work, labels: {new: l, tier: null}}}'}]
""",
    "a deleted object": """
patches: [{patch: '{apiVersion: v1, kind: Service, metadata: {name: svc}, $patch: delete}'}]
""",
    "a patch for a target": """
patches:
- target: {kind: "Cron.*|Deployment", name: "n.*|dep"}
  patch: '{apiVersion: x, kind: any, metadata: {name: any, labels: {patched: "yes"}}}'
- target: {labelSelector: tier=back}
  patch: |
    - {op: add, path: /metadata/labels/more, value: "1"}
    - {op: remove, path: /spec/template/spec/volumes/0}
- target: {group: batch, version: v1, kind: Nothing}
  patch: |
    - {op: remove, path: /nowhere}
""",
    "a patch in files": """
patches: [{path: patch.yaml}, {path: ops.json, target: {kind: CronJob}}]
patchesStrategicMerge: [old.yaml]
patchesJson6902: [{path: ops.yaml, target: {group: batch, version: v1, kind: Job, name: work}}]
""",
    "a patch of a Deployment": """
patches:
- patch: |
    {apiVersion: apps/v1, kind: Deployment, metadata: {name: dep},
     spec: {template: {spec: {containers: [{name: d, image: x}]}}}}
""",
    "a patch of a custom kind": """
patches:
- patch: |
    {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {name: gang},
     spec: {queue: q, tasks: [{name: u}]}}
""",
    "a patch and a prefix": "namePrefix: p-\n" + patched("{containers: [{name: main, image: other}]}"),
    "a component": "namePrefix: p-\ncomponents: [../part]",
    "another name": """
patches:
- target: {kind: Service}
  patch: '{apiVersion: v1, kind: Service, metadata: {name: renamed}}'
  options: {allowNameChange: true}
""",
}
MORE = {
    "over/patch.yaml": f"{WORK}, spec: {{backoffLimit: 3}}}}\n---\n{WORK}, spec: {{completions: 2}}}}\n",
    "over/old.yaml": f"{WORK}, spec: {{parallelism: 4}}}}\n",
    "over/ops.json": '[{"op": "replace", "path": "/spec/schedule", "value": "@daily"}]',
    "over/ops.yaml": "- {op: add, path: /spec/template/spec/containers/-, value: {name: z, image: z}}\n",
    "part/kustomization.yaml": """
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [extra.yaml]
patches: [{target: {kind: Job, group: batch}, patch: "- {op: add, path: /spec/suspend, value: true}\\n"}]
configMapGenerator: [{name: conf, behavior: merge, literals: [part=yes]}]
""",
    "part/extra.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: extra}, data: {a: b}}",
}
TWICE = {
    **BASE,
    "a/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\nnamespace: one",
    "b/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\nnamespace: two\n"
    "configMapGenerator: [{name: conf, behavior: merge, literals: [b=b]}]",
    "over/kustomization.yaml": "resources: [../a, ../b]\nnameSuffix: -z\nlabels: [{pairs: {all: both}}]",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "over"


def plain(value: Any) -> Any:
    """Values without the line breaks that kustomize puts into long base64 texts."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    is_base64 = isinstance(value, str) and len(value) > 70 and " " not in value
    return value.replace("\n", "") if is_base64 else value


def of_kubectl(folder: Path) -> list[Any]:
    words = [kubectl_binary.find(), "kustomize", folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [plain(each) for each in yaml.safe_load_all(done.stdout)]


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_gives_the_same(name: str, tmp_path: Path) -> None:
    text = f"resources: [../base]\n{OVERLAYS[name]}"
    folder = written(tmp_path, {**BASE, **MORE, "over/kustomization.yaml": text})
    assert kustomize_build.build(folder) == of_kubectl(folder)


def test_two_variants_of_a_base_keep_their_own_references(tmp_path: Path) -> None:
    folder = written(
        tmp_path, {key: text.replace("kind: Namespace", "kind: Namespaced") for key, text in TWICE.items()}
    )
    assert kustomize_build.build(folder) == of_kubectl(folder)
