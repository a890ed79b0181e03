import { createTransport } from '../../../../src/chain/rpc/transport.ts'
import { systemClock } from '../../../../src/lib/clock.ts'

/** Asks the endpoint of the first argument once, and prints its result or the failure. */
const transport = createTransport({ url: process.argv[2] ?? '', timeoutMs: 10_000, clock: systemClock })
const request = { method: 'x', params: [], parse: (result: unknown) => result }
const outcome = await transport.send(request, new AbortController().signal).catch((error: Error) => error.message)
console.log(outcome)
