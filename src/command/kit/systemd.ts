import type { KitSettings } from './settings.ts'

/** Creates a unit for `/usr/local/bin/walletscope`; its user `walletscope` can write only to its own directory. */
export function systemdUnit({ port, operatorPort, drainSec, stopSec, host, variables, files }: KitSettings): string {
  const paths = Object.entries(files).map(([name, sources]) => [name, sources.join(',')] as const)
  const environment = [...Object.entries(variables), ...paths].map(
    ([name, value]) => `Environment=${quoteSpaced(`${name}=${value.replaceAll('%', '%%')}`)}`,
  )
  const passed = `-E PORT=${port} -E OPERATOR_PORT=${operatorPort} -E DATA_DIR=/var/lib/walletscope`
  return `# /etc/systemd/system/walletscope.service
#   useradd --system --home-dir /var/lib/walletscope --shell /usr/sbin/nologin walletscope
#   install -m 0600 /dev/null /etc/walletscope.env   # DATABASE_URL=…, RPC_URL_1=…; without DATABASE_URL the embedded one
#   systemctl daemon-reload && systemctl enable --now walletscope
# Commands need the same environment, login for the address that it prints:
#   systemd-run --pipe --wait --uid=walletscope -p EnvironmentFile=-/etc/walletscope.env ${passed} walletscope login
[Unit]
Description=walletscope
After=network-online.target
Wants=network-online.target

[Service]
User=walletscope
Group=walletscope
EnvironmentFile=-/etc/walletscope.env
Environment=HOST=${host}
Environment=PORT=${port}
Environment=OPERATOR_PORT=${operatorPort}
Environment=DRAIN_SECONDS=${drainSec}
Environment=DATA_DIR=/var/lib/walletscope
${environment.join('\n')}
ExecStart=/usr/local/bin/walletscope serve
Restart=always
RestartSec=1
# Only the service gets the stop signal; it stops its PostgreSQL itself.
KillMode=mixed
TimeoutStopSec=${stopSec}
StateDirectory=walletscope
StateDirectoryMode=0700
UMask=0077
LimitNOFILE=65536

CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`
}

/** Quotes an assignment with a space, which would end it. */
function quoteSpaced(assignment: string): string {
  return assignment.includes(' ') ? `"${assignment.replaceAll('"', '\\"')}"` : assignment
}
