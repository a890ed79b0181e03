import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createProofRunner } from '../../../../src/receipt/proof/runner.ts'
import { temporaryDirectory } from '../../../support/database.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const RUNNER = join(import.meta.dir, '../../../../src/receipt/proof/runner.ts')
/** An invalid proof, and the thread's reply to it. */
const JOB = { chainId: 1, proof: { header: '0x', nodes: [], codes: [] }, calls: [], explores: false } as const

test('a thread that starts before its job replies to it', async () => {
  const runner = createProofRunner()
  runner.prepare()
  runner.prepare()
  const { signal } = new AbortController()
  expect(await runner.run(JOB, signal)).toEqual({ fault: 'the proof cannot be read' })
  runner.close()
})

test('requesters take turns, however many jobs each has, and one that leaves gives its turn away', async () => {
  const runner = createProofRunner()
  const { signal } = new AbortController()
  const left = new AbortController()
  const order: string[] = []
  const run = (name: string, requester: string, until = signal) =>
    runner.run(JOB, until, requester).then(
      () => order.push(name),
      () => order.push(`${name} left`),
    )
  const runs = [run('a1', 'a'), run('a2', 'a'), run('a3', 'a'), run('b1', 'b'), run('c1', 'c', left.signal)]
  left.abort()
  await Promise.all([...runs, run('b2', 'b')])
  expect(order).toEqual(['c1 left', 'a1', 'a2', 'b1', 'a3', 'b2'])
  runner.close()
})

test('a job that computes for long is stopped, and its requester alone rests for a minute', async () => {
  const clock = createTestClock()
  const runner = createProofRunner({ clock, jobMsMax: 8_000 })
  const { signal } = new AbortController()
  const long = runner.run(JOB, signal, 'a')
  const behind = runner.run(JOB, signal, 'a')
  // The thread takes longer to start than the clock to pass.
  await clock.advance(8_000)
  expect(await long).toEqual({ fault: 'its contracts computed for longer than 8 s; ask in a minute' })
  expect(await behind).toEqual(await long)
  expect(await runner.run(JOB, signal, 'a')).toEqual(await long)
  const read = { fault: 'the proof cannot be read' }
  expect(await runner.run(JOB, signal, 'b')).toEqual(read)
  await clock.advance(60_000)
  expect(await runner.run(JOB, signal, 'a')).toEqual(read)
  runner.close()
})

test('a requester that leaves shortly before its job is stopped rests too, and one that leaves at once does not', async () => {
  const clock = createTestClock()
  const runner = createProofRunner({ clock, jobMsMax: 8_000 })
  const { signal } = new AbortController()
  for (const [requester, ms] of [
    ['a', 7_900],
    ['b', 100],
  ] as const) {
    const left = new AbortController()
    const job = runner.run(JOB, left.signal, requester).catch(() => 'left')
    await clock.advance(ms)
    left.abort()
    expect(await job).toBe('left')
  }
  expect(await runner.run(JOB, signal, 'a')).toMatchObject({ fault: expect.stringContaining('ask in a minute') })
  expect(await runner.run(JOB, signal, 'b')).toEqual({ fault: 'the proof cannot be read' })
  runner.close()
})

test('a thread that dies without a job fails no caller, and later jobs report it', async () => {
  const { outputs } = await Bun.build({ entrypoints: [RUNNER], target: 'bun', format: 'esm' })
  // The worker's file is missing.
  const path = join(temporaryDirectory(), 'runner.mjs')
  await Bun.write(path, outputs[0] ?? '')
  const { createProofRunner }: typeof import('../../../../src/receipt/proof/runner.ts') = await import(path)
  const [first, second] = [createProofRunner(), createProofRunner()]
  first.prepare()
  const { signal } = new AbortController()
  // Begun later, it dies later.
  for (const runner of [second, first]) {
    await expect(runner.run(JOB, signal)).rejects.toThrow('The thread of proofs has ended')
  }
})
