import { isIP } from 'node:net'
import type { Config } from './config.ts'

/** Lists the host names of the service, besides addresses and `localhost`. */
export function hostNames({
  host,
  publicUrl,
  allowedHosts,
}: Pick<Config, 'host' | 'publicUrl' | 'allowedHosts'>): readonly string[] {
  const own = isIP(host.replace(/^\[|\]$/g, '')) === 0 ? [host] : []
  return [...new Set([...own, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]), ...allowedHosts])]
}
