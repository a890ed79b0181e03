import { isIP } from 'node:net'

/** True for loopback hosts, reachable from this machine only: `localhost`, `127.0.0.0/8` and `::1`. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.')
  return host === '::1' || host.toLowerCase() === 'localhost'
}
