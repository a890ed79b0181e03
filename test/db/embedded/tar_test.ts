import { expect, test } from 'bun:test'
import { readTar, type TarEntry, writeTar } from '../../../src/db/embedded/tar.ts'

const ENTRIES: readonly TarEntry[] = [
  { kind: 'file', path: 'bin/program', mode: 0o755, bytes: new Uint8Array(513).fill(7) },
  { kind: 'file', path: 'share/empty', mode: 0o644, bytes: new Uint8Array() },
  { kind: 'link', path: 'lib/a.so', target: 'a.so.1' },
  { kind: 'file', path: 'share/block', mode: 0o644, bytes: new Uint8Array(512).fill(1) },
]

test('readTar() gives back what writeTar() was given', () => {
  expect(readTar(writeTar(ENTRIES))).toEqual(ENTRIES)
})

test('writeTar() writes what the system’s tar can list', () => {
  const { stdout, success } = Bun.spawnSync(['tar', '-t'], { stdin: writeTar(ENTRIES) })
  expect(success).toBe(true)
  expect(stdout.toString().trim().split('\n')).toEqual(ENTRIES.map((entry) => entry.path))
})

test('readTar() refuses an archive that is cut short', () => {
  expect(() => readTar(writeTar(ENTRIES).subarray(0, 1_000))).toThrow('cut short')
})

test.each(['/etc/passwd', '../outside', 'a/../../b'])('readTar() refuses the path %s', (path) => {
  const archive = writeTar([{ kind: 'file', path, mode: 0o644, bytes: new Uint8Array() }])
  expect(() => readTar(archive)).toThrow('outside')
})
