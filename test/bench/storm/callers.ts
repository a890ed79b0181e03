import { hash } from 'node:crypto'
import type { Member } from './member.ts'

/** What came of one key of idempotency. */
interface AskedKey {
  answers: number
  /** Answers that were no replay. */
  fresh: number
  credits: number
  body: string | undefined
  differs: boolean
}

const ANSWERS_WANTED = 2
const PATIENCE_MS = 8_000
const AGAIN_MS = 200
const PAUSE_MS = 50

/** Callers that ask each of their keys again, of any member, until they have two answers to it. */
export function createCallers(options: {
  readonly members: readonly Member[]
  readonly key: string
  readonly path: string
  readonly random: () => number
}) {
  const { members, key, path, random } = options
  const keys: AskedKey[] = []
  const statuses: Record<string, number> = {}
  let isOver = false

  async function askOnce(id: string, asked: AskedKey): Promise<void> {
    const up = members.filter(({ service }) => service !== undefined)
    const port = up[Math.floor(random() * up.length)]?.service?.port
    let status = 0
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
        headers: { authorization: `Bearer ${key}`, 'idempotency-key': id },
        signal: AbortSignal.timeout(PATIENCE_MS),
      })
      const text = await answer.text()
      status = answer.status
      if (status !== 200) return await Bun.sleep(AGAIN_MS)
      const body = hash('sha256', text)
      asked.answers++
      asked.differs ||= asked.body !== undefined && asked.body !== body
      asked.body = body
      if (answer.headers.get('idempotency-replayed') === 'true') return
      asked.fresh++
      asked.credits += Number(answer.headers.get('x-credits-charged'))
    } catch {
      await Bun.sleep(AGAIN_MS)
    } finally {
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }

  async function call(): Promise<void> {
    while (!isOver) {
      const asked: AskedKey = { answers: 0, fresh: 0, credits: 0, body: undefined, differs: false }
      const id = `storm-${keys.push(asked)}`
      while (asked.answers < ANSWERS_WANTED) await askOnce(id, asked)
      await Bun.sleep(PAUSE_MS)
    }
  }

  return {
    keys,
    statuses,
    /** Starts so many; resolves when `stop` was called and each has its answers. */
    run: (callers: number) => Promise.all(Array.from({ length: callers }, call)),
    /** Begins no new key. */
    stop(): void {
      isOver = true
    },
  }
}
