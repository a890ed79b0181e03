import { expect, test } from 'bun:test'
import { withProcessLock } from '../../support/process_lock.ts'
import { waitFor } from '../../support/wait_for.ts'

/** Records when it gets and releases the lock. */
const child = (stayMs: number) => `
  const { withProcessLock } = await import(${JSON.stringify(`${import.meta.dir}/../../support/process_lock.ts`)})
  await withProcessLock('alone_test', async () => { console.log('in'); await Bun.sleep(${stayMs}); console.log('out') })`

test('withProcessLock() runs one process after another, also after one that was killed', async () => {
  const seen: string[] = []
  const start = async (stayMs: number, onStart: (running: Bun.Subprocess) => void = () => {}) => {
    const running = Bun.spawn([process.execPath, '-e', child(stayMs)], { stdout: 'pipe', stderr: 'inherit' })
    onStart(running)
    const decoder = new TextDecoder()
    for await (const chunk of running.stdout) seen.push(...decoder.decode(chunk).trim().split('\n'))
  }
  let victim: Bun.Subprocess | undefined
  const killed = start(60_000, (running) => {
    victim = running
  })
  await waitFor('the first to be in', () => seen.length === 1)
  const others = [start(50), start(50), withProcessLock('alone_test', () => seen.push('here'))]
  victim?.kill('SIGKILL')
  await Promise.all([killed, ...others])
  const after = seen.slice(1).join(' ')
  expect(after.replace('here', '').trim().split(/ +/).join(' ')).toBe('in out in out')
  expect(after).not.toContain('in here')
  expect(await withProcessLock('alone_test', async () => 7)).toBe(7)
}, 30_000)
