{{/* Labels that every object has, beside its name. */}}
{{- define "longshore.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The name of the webhooks' Service, Secret, Lease and configurations. */}}
{{- define "longshore.webhooks" -}}
{{ .Release.Name }}-webhooks
{{- end -}}

{{/* The rules of several controllers, each rule once: root, controllers, and perhaps scope. With scope "cluster" only
     those about objects in no namespace, with scope "namespace" only the others. */}}
{{- define "longshore.rules" -}}
{{- $scope := get . "scope" -}}
{{- $known := .root.Files.Get "files/rights.yaml" | replace "longshore-webhooks" (include "longshore.webhooks" .root) | fromYaml -}}
{{- $rules := list -}}
{{- range .controllers -}}
{{- range get $known . -}}
{{- $of := ternary "cluster" "namespace" (has (first .resources) (get $known "cluster-scoped")) -}}
{{- if and (not (has . $rules)) (or (not $scope) (eq $scope $of)) -}}{{- $rules = append $rules . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{/* Account, rights, disruption budget and Deployment of the controllers or of the scheduler:
     root, name, part (controllers or scheduler), controllers, only, replicas, shards, webhooks, command. */}}
{{- define "longshore.objects" -}}
{{- $root := .root -}}
{{- $namespace := $root.Release.Namespace -}}
{{- $labels := include "longshore.labels" . -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
---
# The Leases, and events about them.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
rules:
  {{- if .shards }}
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create, get, list, update]
  {{- else }}
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create, list]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ .name }}{{ if .webhooks }}, {{ include "longshore.webhooks" .root }}{{ end }}]
    verbs: [get, update]
  {{- end }}
  - apiGroups: [""]
    resources: [events]
    verbs: [create, patch]
  {{- if .webhooks }}
  {{- include "longshore.rules" (dict "root" .root "controllers" (list "webhooks-own")) | nindent 2 }}
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace }}
{{- $wide := include "longshore.rules" (dict "root" $root "controllers" .controllers "scope" (ternary "cluster" "" (ne .only ""))) }}
{{- if ne $wide "[]" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels: {{- $labels | nindent 4 }}
rules: {{- $wide | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace }}
{{- end }}
{{- if .only }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: longshore-batch
  namespace: {{ .only }}
  labels: {{- $labels | nindent 4 }}
rules: {{- include "longshore.rules" (dict "root" $root "controllers" .controllers "scope" "namespace") | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: longshore-batch
  namespace: {{ .only }}
  labels: {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: longshore-batch
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace }}
{{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .name }}}
{{- if $root.Values.createDeployments }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  namespace: {{ $namespace }}
  labels: {{- $labels | nindent 4 }}
spec:
  replicas: {{ .replicas }}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .name }}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: {{ .name }}}
    spec:
      serviceAccountName: {{ .name }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app.kubernetes.io/name: {{ .name }}}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile: {type: RuntimeDefault}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .part }}
          image: {{ printf "%s:%s" $root.Values.image.repository ($root.Values.image.tag | default $root.Chart.AppVersion) | quote }}
          {{- if ne $root.Values.image.pullPolicy "IfNotPresent" }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          {{- end }}
          command: {{- toYaml .command | nindent 12 }}
          ports:
            - {name: metrics, containerPort: 8080}
            {{- if .webhooks }}
            - {name: webhooks, containerPort: 8443}
            {{- end }}
          livenessProbe:
            httpGet: {path: /healthz, port: metrics}
            periodSeconds: 20
            timeoutSeconds: 10
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: metrics}
            timeoutSeconds: 5
          resources: {{- toYaml $root.Values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
{{- end }}
{{- end -}}
