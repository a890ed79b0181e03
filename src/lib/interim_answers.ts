import type { ClientRequest } from 'node:http'

/** Interim (1xx) answers before the final one: neither runtime limits them, and each takes a turn of the event loop. */
export const INTERIM_MAX = 10

/** Calls `end` once the server of a request has sent more interim answers than any honest one does. */
export function limitInterimAnswers(request: ClientRequest, end: () => void): void {
  let interimAnswers = 0
  request.on('information', () => {
    if (++interimAnswers === INTERIM_MAX + 1) end()
  })
}
