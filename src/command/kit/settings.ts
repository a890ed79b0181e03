import { listServedChainIds } from '../../service/config/chains.ts'
import type { Config } from '../../service/config/config.ts'

/** The part of a configuration that the files need, without values that may be secret. */
export interface KitSettings {
  /** Where a service outside a container listens. */
  readonly host: string
  readonly port: number
  readonly operatorPort: number
  /** Seconds between unready and closing. */
  readonly drainSec: number
  /** Seconds from the stop signal until a supervisor may kill the process. */
  readonly stopSec: number
  /** Plain variables that are set and are not secrets, by name. */
  readonly variables: Readonly<Record<string, string>>
  /** `ALLOWED_HOSTS` of a service that other containers call by its name, `walletscope`. */
  readonly hostsWithName: string
  readonly workers: number
  /** Variables that hold the endpoints of its chains. */
  readonly endpoints: readonly string[]
}

const OPERATOR_PORT = 8081
/** Upper bound of the stop time after the drain, with a margin. */
const STOP_SEC = 15

/** Derives the files' settings from a configuration. Defaults for absent ports and times suit a public service. */
export function kitSettings({
  host,
  port,
  operatorPort,
  drainMs,
  publicUrl,
  allowedHosts,
  chains,
  solana,
  workers,
}: Config): KitSettings {
  const ids = chains.map(({ id }) => id)
  const hasSolana = solana.rpcUrls.length > 0
  // Ten seconds suffice for a balancer that probes every five seconds, as in Kubernetes and compose.
  const drainSec = Math.max(10, Math.ceil(drainMs / 1_000))
  return {
    host,
    workers,
    hostsWithName: [...new Set([...allowedHosts, 'walletscope'])].join(','),
    port: port === 0 ? 8_080 : port,
    operatorPort: operatorPort === undefined || operatorPort === 0 ? OPERATOR_PORT : operatorPort,
    drainSec,
    stopSec: drainSec + STOP_SEC,
    variables: {
      CHAINS: listServedChainIds({ chains, solana }).join(','),
      ...(workers === 1 ? {} : { WORKERS: String(workers) }),
      // Escape the two characters that would end or expand the value in one of the files.
      ...(publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl.replaceAll("'", '%27').replaceAll('$', '%24') }),
      ...(allowedHosts.length === 0 ? {} : { ALLOWED_HOSTS: allowedHosts.join(',') }),
    },
    endpoints: [...ids.map((id) => `RPC_URL_${id}`), ...(hasSolana ? ['SOLANA_RPC_URL'] : [])],
  }
}
