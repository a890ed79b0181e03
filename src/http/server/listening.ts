export interface ListeningServer {
  readonly port: number
  /** `http://host:port`. */
  readonly url: string
  /** Refuses new connections at once; resolves when the accepted requests are answered. */
  stop(): Promise<void>
}

/** Address of a listening server: an IPv6 host stands in brackets. */
export function formatServerUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
