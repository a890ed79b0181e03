import { isIP } from 'node:net'
import { CodedError } from '../../lib/error.ts'
import { SHOWN_VALUE_LENGTH_MAX } from '../limits.ts'
import { badTargetError } from './target.ts'

/** Stands for any host name. */
export const ANY_HOST = '*'

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$/

/**
 * Creates a check of `Host` headers, which returns an error or undefined. Any site can make its own name resolve to
 * this machine (DNS rebinding), and browsers then take the service for a part of that site. So a name must be one of
 * `names`, `localhost` or below it. Addresses cannot be rebound. Ports are ignored, because port mapping changes them.
 */
export function createHostCheck(names: readonly string[]): (host: string | null) => CodedError | undefined {
  const ownNames = new Set(names.map((name) => name.toLowerCase()))
  const isAny = ownNames.has(ANY_HOST)
  // Nearly every request has the same host as the previous one.
  let lastHost: string | undefined
  return (host) => {
    if (host === lastHost) return undefined
    if (host === null || !HOST.test(host)) return badTargetError()
    const name = toHostName(host)
    if (isAny || isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || ownNames.has(name)) {
      lastHost = host
      return undefined
    }
    return new CodedError(
      'INVALID_REQUEST',
      `Cannot answer for host "${name.slice(0, SHOWN_VALUE_LENGTH_MAX)}": expected an address, localhost, the name in PUBLIC_URL or one in ALLOWED_HOSTS`,
    )
  }
}

/** The name or address in lower case, without brackets, port and the root's dot. */
function toHostName(host: string): string {
  if (host.startsWith('[')) return host.slice(1, host.indexOf(']'))
  const [name = ''] = host.split(':', 1)
  return name.replace(/\.$/, '').toLowerCase()
}
