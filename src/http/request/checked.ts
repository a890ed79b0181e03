import { createRecent } from '../../lib/recent.ts'

/** Inputs that a route remembers, and characters and bytes that they were made from. */
const INPUTS_MAX = 2_000
const SENT_MAX = 2_000_000
/** Bytes at the end of a body by which it is looked up: hashing all of it would take longer than comparing it. */
const ENDING_BYTES = 64
const NO_BODY = Buffer.alloc(0)

/** What an input is made from: the text of path and query, and the bytes of the body if there is one. */
interface Sent {
  readonly text: string
  readonly body?: Buffer
}

interface Checked<Input> {
  readonly input: Input
  readonly body: Buffer
}

/**
 * Remembers what was found good: callers ask the same again and again, and get the very same input. Without knowing
 * what was sent, `check` is called each time.
 */
export function createChecks<Input extends object>() {
  const inputs = createRecent<Checked<Input>>({
    entriesMax: INPUTS_MAX,
    weightMax: SENT_MAX,
    weightOf: ({ body }, name) => name.length + body.length,
  })
  return (sent: Sent | undefined, check: () => Input): Input => {
    if (sent === undefined) return check()
    const { text, body = NO_BODY } = sent
    const ending = body.toString('latin1', Math.max(0, body.length - ENDING_BYTES))
    const name = `${text}\n${body.length}\n${ending}`
    const before = inputs.get(name)
    if (before?.body.equals(body)) return before.input
    const input = check()
    inputs.set(name, { input, body })
    return input
  }
}
