import type { Config } from '../../config/config.ts'
import { LOGIN_PATH } from '../../http/plane/login.ts'
import { formatServerUrl } from '../../http/server/listening.ts'

/** Wildcard addresses, which no browser can open. */
const EVERYWHERE = ['0.0.0.0', '::', '[::]']

/**
 * Returns the link of a login: on the operator's port if there is one, else on the public address, else on the
 * listening address. `listens` has the real ports, if the system chose them.
 */
export function loginUrl(
  config: Pick<Config, 'host' | 'port' | 'operatorPort' | 'publicUrl'>,
  link: {
    readonly secret: string
    readonly isOperator: boolean
    readonly listens?: { readonly port: number; readonly operatorPort: number | undefined }
  },
): string {
  const { port, operatorPort } = link.listens ?? config
  const apart = link.isOperator ? operatorPort : undefined
  const host = toReachableHost(config.host)
  const base = apart === undefined ? (config.publicUrl ?? formatServerUrl(host, port)) : formatServerUrl(host, apart)
  return `${base.replace(/\/$/, '')}${LOGIN_PATH}?${link.secret}`
}

/** Returns the host under which this machine reaches a service that listens on `host`. */
export function toReachableHost(host: string): string {
  return EVERYWHERE.includes(host) ? '127.0.0.1' : host
}
