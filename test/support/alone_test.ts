import { expect, test } from 'bun:test'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { alone } from './alone.ts'

const LOCK = join(import.meta.dir, '../../.cache/alone_test.lock')
/** Says when it comes in and when it leaves. */
const CHILD = `
  const { alone } = await import(${JSON.stringify(`${import.meta.dir}/alone.ts`)})
  alone('alone_test', () => { console.log('in'); Bun.sleepSync(100); console.log('out') })`

test('alone() lets one process in after another, also behind one that was killed', async () => {
  rmSync(LOCK, { force: true })
  const dead = Bun.spawn(['true'])
  await dead.exited
  writeFileSync(LOCK, String(dead.pid))
  const seen: string[] = []
  await Promise.all(
    [1, 2, 3].map(async () => {
      const child = Bun.spawn([process.execPath, '-e', CHILD], { stdout: 'pipe', stderr: 'inherit' })
      const decoder = new TextDecoder()
      for await (const chunk of child.stdout) seen.push(...decoder.decode(chunk).trim().split('\n'))
      expect(await child.exited).toBe(0)
    }),
  )
  expect(seen).toEqual(['in', 'out', 'in', 'out', 'in', 'out'])
  expect(existsSync(LOCK)).toBe(false)
  expect(alone('alone_test', () => 7)).toBe(7)
}, 30_000)
