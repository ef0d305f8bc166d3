"""Stories of namespaces: what was made in them, and what keeps one from going."""

from __future__ import annotations

from longshore.testing import Run
from why.why_stage import PODS, Stage, a_pod, play

NAMESPACES, MAPS = ("v1", "Namespace"), ("v1", "ConfigMap")


def test_a_new_namespace() -> None:
    async def script(stage: Stage) -> None:
        await stage.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await stage.sleep(2)
        await stage.tells(
            "namespace/team",
            """
            09:00:00  created the service account default
            09:00:00  created the ConfigMap kube-root-ca.crt
            09:00:00  bound the namespace's service accounts to the role longshore:workload
            now       the namespace is Active
            next      nothing: it takes new objects
            """,
            "",
        )

    play(script)


def test_a_namespace_that_a_finalizer_holds() -> None:
    async def script(stage: Stage) -> None:
        await stage.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        held = {"metadata": {"name": "m", "finalizers": ["example.org/hold"]}}
        await stage.client.create(MAPS, held, "team")
        await stage.sleep(5)
        await stage.alice.delete(NAMESPACES, "team")
        await stage.sleep(30)
        await stage.tells(
            "namespace/team",
            """
            09:00:00  created the service account default
            09:00:00  created the ConfigMap kube-root-ca.crt
            09:00:00  bound the namespace's service accounts to the role longshore:workload
            09:00:05  alice deleted the namespace with kubectl
            09:00:05  deleted what is in it: configmaps (2), rolebindings.rbac.authorization.k8s.io (1), serviceaccounts (1)
            09:00:05  waits until these are gone: configmaps (1)
            now       it is being deleted since 09:00:05
                      Some resources are remaining: configmaps. has 1 resource instances
                      Some content in the namespace has finalizers remaining: example.org/hold in 1 resource instances
            next      it goes when whoever set these finalizers has removed them from the objects that are left. See them: longshore get configmaps -n team -o yaml
            """,
            "",
        )
        await stage.client.patch(MAPS, "m", {"metadata": {"finalizers": None}}, "team")
        await stage.sleep(60)
        await stage.tells(
            "namespace/team",
            """
            09:00:00  created the service account default
            09:00:00  created the ConfigMap kube-root-ca.crt
            09:00:00  bound the namespace's service accounts to the role longshore:workload
            09:00:05  alice deleted the namespace with kubectl
            09:00:05  deleted what is in it: configmaps (2), rolebindings.rbac.authorization.k8s.io (1), serviceaccounts (1)
            09:00:05  waits until these are gone: configmaps (1)
            09:00:35  it is empty, and goes
            next      nothing: the namespace is gone
            """,
            "",
        )

    play(script)


def test_a_namespace_whose_pods_take_their_time() -> None:
    async def script(stage: Stage) -> None:
        await stage.client.create(NAMESPACES, {"metadata": {"name": "team"}})
        await stage.sleep(2)
        await stage.client.create(PODS, a_pod(), "team")
        await stage.sleep(2)
        await stage.alice.delete(NAMESPACES, "team")
        await stage.sleep(10)
        await stage.tells(
            "namespace/team",
            """
            09:00:00  created the service account default
            09:00:00  created the ConfigMap kube-root-ca.crt
            09:00:00  bound the namespace's service accounts to the role longshore:workload
            09:00:04  alice deleted the namespace with kubectl
            09:00:04  deleted what is in it: pods (1)
            09:00:04  waits until these are gone: pods (1)
            now       it is being deleted since 09:00:04
            next      it goes when nothing is left in it. See what is: longshore get pods -n team
            """,
            "",
        )

    play(script, lambda container: Run(seconds=None, on_term=20.0))
