import type { HattipHandler } from '@hattip/core'
import type { ListeningServer } from '../../http/server/listening.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import type { ServeOptions } from './options.ts'

const FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

/** Opens a port; a failure names the setting that chose it. */
export async function openPort(
  handler: HattipHandler,
  {
    listen,
    name,
    ...address
  }: Pick<ServeOptions, 'listen'> & {
    readonly name: string
    readonly host: string
    readonly port: number
    readonly shared: boolean
    readonly clock: Clock
  },
): Promise<ListeningServer> {
  try {
    return await listen({ handler }, address)
  } catch (cause) {
    const reason = FAILURES[getErrnoCode(cause)] ?? 'the system refused'
    throw new Error(`Cannot listen on HOST ${address.host} ${name} ${address.port}: ${reason}`, { cause })
  }
}

/**
 * Throws as `openPort` if another program has the port. Workers, which share ports, would not notice it: the system
 * would split the requests between both programs.
 */
export async function checkPortFree(
  address: Pick<ServeOptions, 'listen'> & {
    readonly name: string
    readonly host: string
    readonly port: number
    readonly clock: Clock
  },
): Promise<void> {
  if (address.port === 0) return
  const server = await openPort(() => new Response(null, { status: 503 }), { ...address, shared: false })
  await server.stop()
}
