/** Reasons for a failed connection, by the code of the system, TLS, the driver or `pooled_connection.ts`. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused, nothing listens there',
  ECONNRESET: 'the server reset the connection',
  EPIPE: 'the server closed the connection',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name of the host could not be resolved',
  ETIMEDOUT: 'nothing answered the connection',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOENT: 'there is no socket',
  EACCES: 'this user may not use the socket',
  CLOSED: 'the server closed the connection',
  STANDBY: 'the server is a standby',
  NO_TLS: 'the server does not offer TLS: see DATABASE_TLS',
  CONNECT_TIMEOUT: 'no session was opened in time',
  CONNECTION_CLOSED: 'the connection was lost',
  CONNECTION_ENDED: 'the connection was lost',
  CONNECTION_DESTROYED: 'the connection was lost',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another host',
}

/** TLS errors about a certificate: their messages name no host. */
const TLS_CODE = /^(?:CERT_|DEPTH_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_|ERR_TLS_)/

/** Describes a failed connection, without an address, with its code. */
export function describeConnectionFailure(code: string, message: string): string {
  const words = WORDS[code] ?? (TLS_CODE.test(code) && message !== '' ? message : undefined)
  return words === undefined ? code : `${words} (${code})`
}
