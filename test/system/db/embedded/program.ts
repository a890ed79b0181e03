import { expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { unpackProgram } from '../../../../src/db/embedded/program.ts'
import { temporaryDirectory } from '../../../support/database.ts'

const OWNER = join(import.meta.dir, 'owner_process.ts')

test.each(['"', '$', '`', '\\'])(
  'PostgreSQL is not unpacked where its own command line would break: %s',
  async (character) => {
    const parent = temporaryDirectory()
    const unpacked = unpackProgram(join(parent, `a${character}b`), { durable: false, onUnpack: () => {} })
    await expect(unpacked).rejects.toThrow(`initdb cannot be in a path with ${character}; choose another DATA_DIR`)
    expect(readdirSync(parent)).toEqual([])
  },
)

/** What a first start says where this is mounted; only root can mount. */
function startWhere(mount: (directory: string) => string, directory = temporaryDirectory()): string {
  const script = `mkdir -p ${directory}/data && ${mount(directory)} && exec "$0" "$@"`
  const command = ['unshare', '-m', 'sh', '-c', script, process.execPath, OWNER, join(directory, 'data')]
  return Bun.spawnSync(command, { stdout: 'ignore', timeout: 60_000 }).stderr.toString()
}

test.if(process.getuid?.() === 0)(
  'a first start names a file system that runs no programs, and a small /dev/shm',
  () => {
    expect(startWhere((directory) => `mount -t tmpfs -o mode=755,size=600m,noexec tmpfs ${directory}/data`)).toContain(
      'is on a file system that runs no programs (noexec)',
    )
    // Directories of tests may be in /dev/shm.
    const elsewhere = mkdtempSync('/var/tmp/walletscope-test-')
    chmodSync(elsewhere, 0o711)
    try {
      const small = startWhere(() => 'mount -t tmpfs -o size=1m tmpfs /dev/shm', elsewhere)
      expect(small).toContain('/dev/shm is full or too small')
    } finally {
      rmSync(elsewhere, { recursive: true, force: true })
    }
  },
  120_000,
)
