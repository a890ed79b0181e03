import { type KitSettings, listMounts, toMountedVariables } from './settings.ts'

/** Memory of each further worker process, MiB: what one takes, and some. */
const WORKER_MI = 192

/** Creates a secret, a deployment of two processes, each migrating first, a service and a disruption budget. */
export function kubernetesManifests(settings: KitSettings): string {
  const { port, operatorPort, drainSec, stopSec, variables, hostsWithName, workers } = settings
  const files = listMounts(settings).map(({ key, source }) => `\n  # The text of ${source}.\n  ${key}: '…'`)
  const plainVariables = { ...variables, ...toMountedVariables(settings), ALLOWED_HOSTS: hostsWithName }
  const plainLines = Object.entries(plainVariables).map(
    ([name, value]) => `            - { name: ${name}, value: '${value}' }`,
  )
  const moreWorkersMi = (workers - 1) * WORKER_MI
  return `# Fill in the secret and the image. An additional secret is a key here and a variable below: RPC_URL_1 and
# { name: RPC_URL_1_FILE, value: /etc/walletscope/RPC_URL_1 }.
apiVersion: v1
kind: Secret
metadata:
  name: walletscope
stringData:
  DATABASE_URL: 'postgres://walletscope:…@…/walletscope'${files.join('')}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: walletscope
  labels: { app: walletscope }
spec:
  replicas: 2
  selector:
    matchLabels: { app: walletscope }
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels: { app: walletscope }
      annotations:
        prometheus.io/scrape: 'true'
        prometheus.io/port: '${operatorPort}'
    spec:
      terminationGracePeriodSeconds: ${stopSec}
      automountServiceAccountToken: false
      securityContext: { runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: { type: RuntimeDefault } }
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: { app: walletscope }
      initContainers:
        - name: migrate
          image: walletscope
          args: [migrate]
          env: &env
            - { name: PORT, value: '${port}' }
            - { name: OPERATOR_PORT, value: '${operatorPort}' }
            - { name: DRAIN_SECONDS, value: '${drainSec}' }
            - { name: DATABASE_URL_FILE, value: /etc/walletscope/DATABASE_URL }
${plainLines.join('\n')}
          securityContext: &contained
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          volumeMounts: &mounts
            - { name: secret, mountPath: /etc/walletscope, readOnly: true }
            - { name: data, mountPath: /data }
      containers:
        - name: walletscope
          image: walletscope
          args: [serve]
          env: *env
          ports:
            - { name: http, containerPort: ${port} }
            - { name: operator, containerPort: ${operatorPort} }
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 1
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 3
          readinessProbe:
            httpGet: { path: /readyz, port: operator }
            periodSeconds: 5
            timeoutSeconds: 3
          resources:
            requests: { cpu: 250m, memory: ${256 + moreWorkersMi}Mi }
            limits: { memory: ${1024 + moreWorkersMi}Mi }
          securityContext: *contained
          volumeMounts: *mounts
      volumes:
        - name: secret
          # 0440: YAML 1.2 has no octal numbers without a letter.
          secret: { secretName: walletscope, defaultMode: 288 }
        # The journal of charges to void: it survives a crash of the container.
        - name: data
          emptyDir: {}
---
apiVersion: v1
kind: Service
metadata:
  name: walletscope
spec:
  selector: { app: walletscope }
  ports:
    - { name: http, port: 80, targetPort: http }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: walletscope
spec:
  minAvailable: 1
  selector:
    matchLabels: { app: walletscope }
`
}
