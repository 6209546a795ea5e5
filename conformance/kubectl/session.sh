#!/usr/bin/env bash
# What kubectl says to a session on one API server: conformance/kubectl/session.sh KUBECONFIG > transcript
#
# Every command is printed before its output, with its exit status where that is not 0. What differs from run to run
# (uids, times, versions, ports) is replaced, so that two transcripts can be compared with diff. The namespace
# `kubectl-session` is made and removed.
set -uo pipefail

export KUBECONFIG=$1
export HOME
HOME=$(mktemp -d) # kubectl keeps what it discovers there
trap 'rm -rf "$HOME"' EXIT
cd "$HOME" || exit 2
ns=kubectl-session

normalise() {
    sed -E \
        -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/UID/g' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z/TIME/g' \
        -e 's/(resourceVersion"?: ?)"[0-9]+"/\1"VERSION"/g' \
        -e 's/127\.0\.0\.1:[0-9]+/ADDRESS/g' \
        -e "s/\\b[0-9]+(ms|s|m|m[0-9]+s)\\b *(\$| )/AGE\\2/g" \
        -e 's/ +/ /g; s/ $//'
}

say() {
    printf '$ %s\n' "$*"
    "$@" 2>&1 | normalise
    local status=${PIPESTATUS[0]}
    ((status == 0)) || printf '(exit %d)\n' "$status"
}

k() { say kubectl "$@"; }

cat > pod.yaml <<'YAML'
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec: { containers: [{ name: c, image: nginx }] }
YAML
cat > app.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, labels: { app: web } }
data: { colour: blue }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: app, labels: { app: web } }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: "nginx:1", env: [{ name: A, value: "1" }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: app }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
YAML
sed -e 's/blue/green/' -e 's/nginx:1/nginx:2/' -e 's/{ name: A, value: "1" }/{ name: B, value: "2" }/' app.yaml > changed.yaml
cat > widgets.yaml <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.kubectl.example.com }
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: { kind: Widget, plural: widgets, singular: widget, shortNames: [wd], categories: [all] }
  versions:
    - name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
      additionalPrinterColumns:
        - { name: Size, type: integer, jsonPath: .spec.size }
        - { name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status' }
        - { name: Age, type: date, jsonPath: .metadata.creationTimestamp }
YAML
cat > widget.yaml <<'YAML'
apiVersion: kubectl.example.com/v1
kind: Widget
metadata: { name: one }
spec: { size: 3 }
status: { conditions: [{ type: Ready, status: "True" }] }
YAML
cat > lease.yaml <<'YAML'
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: leader }
spec: { holderIdentity: me, leaseDurationSeconds: 15 }
YAML
cat > node.yaml <<'YAML'
apiVersion: v1
kind: Node
metadata: { name: kubectl-session-node, labels: { node-role.kubernetes.io/worker: "" } }
YAML

# Discovery and what needs no object.
k get namespaces default kube-system
k api-resources --api-group=apps
k api-versions
k get nosuch
k get pods -n default

# Create and get.
k create namespace $ns
k create namespace $ns
kubectl config set-context --current --namespace=$ns > /dev/null
k get pods
k create -f pod.yaml
k create -f pod.yaml
k create configmap made --from-literal=a=1 --from-literal=b=2
k create secret generic hidden --from-literal=password=x
k create deployment made --image=nginx --replicas=3
k autoscale deployment made --min=2 --max=5 --cpu-percent=50
k get hpa
k get hpa.v1.autoscaling made -o jsonpath='{.spec}{"\n"}'
k auth can-i create pods
k auth can-i get /version
k create -f lease.yaml
k create -f node.yaml
k get nodes kubectl-session-node
k delete node kubectl-session-node
k get configmaps,secrets,leases
k get pod web
k get pods -o wide
k get pods --show-labels
k get pods -L app
k get pod web -o yaml
k get pod web -o json
k get pods -o name
k get pods -o jsonpath='{.items[*].metadata.name}{"\n"}'
k get pods -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image
k get deployments made -o yaml
k get deployments -o wide
k get secret hidden -o yaml
k get configmap made -o yaml
k get configmap nosuch
k get all

# Selectors.
k get pods -l app=web
k get pods -l app!=web
k get pods -l 'app in (web,other)'
k get pods -l 'not a selector'
k get pods --field-selector=status.phase=Pending
k get pods --field-selector=spec.nosuch=x
k get configmaps --field-selector=metadata.name=made
k get pods -A -l app=web
k get events

# Apply.
k apply -f app.yaml
k apply -f app.yaml
k diff -f app.yaml
k apply -f changed.yaml
k get deployment app -o jsonpath='{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env}{"\n"}'
k get configmap settings -o jsonpath='{.data}{"\n"}'
k get service app -o jsonpath='{.spec.ports}{"\n"}'
k get deployment app -o yaml
k apply -f changed.yaml --dry-run=client
k replace -f changed.yaml
k apply view-last-applied configmap settings

# Changes of one object.
k label pod web tier=front
k label pod web tier=front
k label pod web tier=back
k label pod web tier=back --overwrite
k label pod web tier-
k annotate pod web note=hello
k patch configmap made --type=merge -p '{"data":{"a":"2","b":null}}'
k patch configmap made --type=json -p '[{"op":"add","path":"/data/c","value":"3"}]'
k patch configmap made --type=json -p '[{"op":"remove","path":"/data/nosuch"}]'
k patch deployment app -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}'
k get deployment app -o jsonpath='{.spec.template.spec.containers[*].image}{"\n"}'
k patch configmap made -p 'not json'
k set image deployment/app c=nginx:3
k scale deployment app --replicas=5
k get deployment app -o jsonpath='{.spec.replicas}{"\n"}'
k get configmap made -o jsonpath='{.data}{"\n"}'

# Custom resources.
k create -f widgets.yaml
k wait --for=condition=Established crd/widgets.kubectl.example.com --timeout=20s
k get crd widgets.kubectl.example.com
k apply -f widget.yaml
k get widgets
k get wd one -o yaml
k patch widget one --type=merge -p '{"spec":{"size":4}}'
k get wd
k api-resources --api-group=kubectl.example.com
k delete widget one
k delete crd widgets.kubectl.example.com
k get widgets

# A watch: what was there, then what happens. Its output is waited for, for 20 seconds at most.
lines() { grep -m "$1" "$2" < <(timeout 20 tail -n +1 -f watched.txt) > /dev/null; }
labelled() {
    kubectl create configmap "$1" --from-literal=a=1 --dry-run=client -o yaml |
        kubectl label --local -f - watched=yes -o yaml | kubectl create -f - > /dev/null
}
labelled w0
kubectl get configmaps -l watched=yes -w > watched.txt 2>&1 &
watch=$!
lines 1 '^w0'
labelled w1
kubectl patch configmap w1 --type=merge -p '{"data":{"b":"2"}}' > /dev/null
kubectl label configmap w1 watched- > /dev/null
lines 3 '^w1'
kill $watch
wait $watch 2> /dev/null
say cat watched.txt

# Waiting, and the end.
k wait --for=jsonpath='{.data.a}'=2 configmap/made --timeout=20s
k wait --for=delete configmap/nosuch --timeout=20s
k delete pod web --grace-period=0 --force
k delete configmap -l watched=yes
k delete configmap made settings
k delete configmap made
k delete deployment,service --all
k get all
k explain pods
k version
k delete namespace $ns --wait=false
