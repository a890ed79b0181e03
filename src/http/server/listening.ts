export interface ListeningServer {
  readonly port: number
  /** `http://host:port`. */
  readonly url: string
  /** Refuses new connections at once; resolves when the accepted requests are answered. */
  stop(): Promise<void>
  /** Closes connections on which an answer was sent and no request is under way. */
  closeIdle(): void
}

/** Formats the address of a listening server, with an IPv6 host in brackets. */
export function formatServerUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
