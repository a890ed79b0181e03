import { isIP } from 'node:net'
import { CodedError } from '../../lib/error.ts'
import { SHOWN_VALUE_LENGTH_MAX } from '../limits.ts'
import { badTargetError } from './target.ts'

/** In place of names: any name is answered. */
export const ANY_HOST = '*'

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$/

/**
 * Tells what is wrong with a `Host` header; undefined if nothing is. A page of any site can make its own name point to this machine (DNS rebinding), and
 * browsers then take the service for a part of that site. So a name must be one of `names`, `localhost` or below it.
 * Addresses cannot be made to point elsewhere, and ports say nothing: whoever maps them asks for another one.
 */
export function createHostCheck(names: readonly string[]): (host: string | null) => CodedError | undefined {
  const own = new Set(names.map((name) => name.toLowerCase()))
  const isAny = own.has(ANY_HOST)
  // Nearly every request has the host of the one before.
  let known: string | undefined
  return (host) => {
    if (host === known) return undefined
    if (host === null || !HOST.test(host)) return badTargetError()
    const name = nameOf(host)
    if (isAny || isIP(name) !== 0 || name === 'localhost' || name.endsWith('.localhost') || own.has(name)) {
      known = host
      return undefined
    }
    return new CodedError(
      'INVALID_REQUEST',
      `Cannot answer for host "${name.slice(0, SHOWN_VALUE_LENGTH_MAX)}": expected an address, localhost, the name in PUBLIC_URL or one in ALLOWED_HOSTS`,
    )
  }
}

/** The name or address in small letters, without brackets, port and the dot of the root. */
function nameOf(host: string): string {
  if (host.startsWith('[')) return host.slice(1, host.indexOf(']'))
  const [name = ''] = host.split(':', 1)
  return name.replace(/\.$/, '').toLowerCase()
}
