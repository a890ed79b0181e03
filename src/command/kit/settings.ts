import { listServedChainIds } from '../../service/config/chains.ts'
import type { Config } from '../../service/config/config.ts'

/** What the files need of a configuration. Values that may be secret are not among them. */
export interface KitSettings {
  readonly port: number
  readonly operatorPort: number
  /** Seconds between unready and closing. */
  readonly drainSec: number
  /** Seconds from the request to stop until a supervisor may kill. */
  readonly stopSec: number
  /** Plain variables that are set and are not secrets, by name. */
  readonly variables: Readonly<Record<string, string>>
  /** Variables that hold the endpoints of its chains. */
  readonly endpoints: readonly string[]
}

const OPERATOR_PORT = 8081
/** What the process takes at most to stop after its drain, and some more. */
const STOP_SEC = 15

/** What a configuration says for the files. Absent ports and times are chosen for a service that others reach. */
export function kitSettings({
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
  // A balancer that asks every five seconds, as those of Kubernetes and compose do, has noticed by then.
  const drainSec = Math.max(10, Math.ceil(drainMs / 1_000))
  return {
    port: port === 0 ? 8_080 : port,
    operatorPort: operatorPort === undefined || operatorPort === 0 ? OPERATOR_PORT : operatorPort,
    drainSec,
    stopSec: drainSec + STOP_SEC,
    variables: {
      CHAINS: listServedChainIds({ chains, solana }).join(','),
      ...(workers === 1 ? {} : { WORKERS: String(workers) }),
      // Which these two marks would end or expand in one file or the other.
      ...(publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl.replaceAll("'", '%27').replaceAll('$', '%24') }),
      ...(allowedHosts.length === 0 ? {} : { ALLOWED_HOSTS: allowedHosts.join(',') }),
    },
    endpoints: [...ids.map((id) => `RPC_URL_${id}`), ...(hasSolana ? ['SOLANA_RPC_URL'] : [])],
  }
}
