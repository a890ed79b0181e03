import { userInfo } from 'node:os'
import { isLoopback } from '../lib/text/network.ts'

/** Where one PostgreSQL listens. */
export type Listener = { readonly path: string } | { readonly host: string; readonly port: number }

/** A parsed `DATABASE_URL`. Holds a password: never logged. */
export interface DatabaseAddress {
  /** Tried in turn; several are a primary and its standbys. */
  readonly listeners: readonly [Listener, ...Listener[]]
  readonly database: string
  readonly user: string
  readonly password: string
  /** False: connections are not encrypted. */
  readonly tls: boolean
  /** False: any certificate is accepted. */
  readonly verified: boolean
  /** File of certificate authorities to trust instead of the system's. */
  readonly caFile: string | undefined
  /** Startup parameters from the URL, such as `application_name` and `options`. */
  readonly startup: Readonly<Record<string, string>>
}

/** TLS policy for hosts that are not loopback: certificates are checked unless the operator relaxes it. */
export type DatabaseTls = 'verify' | 'unverified' | 'off'

const PORT_DEFAULT = 5432
const STARTUP_PARAMETERS = ['application_name', 'options', 'search_path']
/** Parameters for other clients; they do not change how this one connects. */
const IGNORED_PARAMETERS = ['channel_binding', 'connect_timeout', 'gssencmode', 'target_session_attrs']
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/**
 * Parses `postgres://user:password@host:port,host:port/database?sslmode=…`, or `?host=/directory` for a socket. A host
 * that is not loopback is reached only over TLS with a checked certificate, even if the URL names a weaker mode, unless
 * `policy` allows less. Throws an `Error` that never shows the URL.
 */
export function parseDatabaseUrl(url: string, policy: DatabaseTls = 'verify'): DatabaseAddress {
  const match = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(url)
  if (match === null) throw new Error('Cannot read DATABASE_URL: expected postgres://user:password@host:port/database')
  const [, credentials = '', authority = '', path = '', search = ''] = match
  const parameters = new URLSearchParams(search)
  const [userPart = '', ...passwordParts] = credentials.split(':')
  const user = decode(userPart) || parameters.get('user') || userInfo().username
  const listeners = parseListeners(parameters.get('host') ?? decode(authority), parameters.get('port'))
  checkParameters(parameters)
  const certificates = parameters.get('sslrootcert')
  return {
    listeners,
    database: decode(path) || user,
    user,
    password: decode(passwordParts.join(':')) || (parameters.get('password') ?? ''),
    tls: needsTls(listeners, { mode: parameters.get('sslmode'), policy }),
    verified: policy !== 'unverified',
    caFile: certificates === null || certificates === 'system' ? undefined : certificates,
    startup: Object.fromEntries([...parameters].filter(([name]) => STARTUP_PARAMETERS.includes(name))),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('Cannot read DATABASE_URL: a percent sign is not followed by two hexadecimal digits')
  }
}

function parseListeners(authority: string, portParameter: string | null): DatabaseAddress['listeners'] {
  const [first, ...rest] = (authority || 'localhost').split(',').map((part) => parseListener(part, portParameter))
  if (first === undefined) throw new Error('Cannot read DATABASE_URL: it names no host')
  return [first, ...rest]
}

function parseListener(text: string, portParameter: string | null): Listener {
  const match = /^(\/.*?|\[[0-9a-fA-F:.%]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text)
  const host = match?.[1]
  const port = Number(match?.[2] ?? portParameter ?? PORT_DEFAULT)
  if (host === undefined || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Error('Cannot read DATABASE_URL: expected host:port')
  }
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}` }
  return { host: host.startsWith('[') ? host.slice(1, -1) : host, port }
}

function checkParameters(parameters: URLSearchParams): void {
  const supported = new Set([
    ...['host', 'port', 'user', 'password', 'sslmode', 'sslrootcert'],
    ...STARTUP_PARAMETERS,
    ...IGNORED_PARAMETERS,
  ])
  for (const name of parameters.keys()) {
    if (!supported.has(name)) throw new Error(`Cannot use DATABASE_URL: parameter "${name}" is not supported`)
  }
}

function needsTls(
  listeners: readonly Listener[],
  { mode, policy }: { readonly mode: string | null; readonly policy: DatabaseTls },
): boolean {
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw new Error(`Cannot use DATABASE_URL: expected sslmode to be one of ${SSL_MODES.join(', ')}`)
  }
  const isTlsRequired = mode === 'require' || mode === 'verify-ca' || mode === 'verify-full'
  if (policy === 'off') {
    if (isTlsRequired) throw new Error(`Cannot use DATABASE_URL: sslmode=${mode} contradicts DATABASE_TLS=off`)
    return false
  }
  const isRemote = listeners.some((listener) => 'host' in listener && !isLoopback(listener.host))
  if (isRemote && mode === 'disable') {
    throw new Error(
      'Cannot use DATABASE_URL: sslmode=disable is refused for a remote host, ' +
        'because passwords and data would cross the network unprotected; DATABASE_TLS=off allows that',
    )
  }
  return isRemote || (isTlsRequired && listeners.every((listener) => 'host' in listener))
}
