import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAnvil } from '../../devnet/anvil.ts'
import { stillRunning } from '../../devnet/processes.ts'
import { createRpc } from '../../devnet/rpc.ts'

test('startAnvil() answers under the wanted chain id from the wanted second on', async () => {
  const anvil = await startAnvil({ chainId: 4711, timestampSec: 1_700_000_000 })
  try {
    const rpc = createRpc(anvil.rpcUrl)
    expect(await rpc.call<string>('eth_chainId')).toBe('0x1267')
    const genesis = await rpc.call<{ timestamp: string }>('eth_getBlockByNumber', '0x0', false)
    expect(Number(genesis.timestamp)).toBe(1_700_000_000)
  } finally {
    await anvil.stop()
  }
})

test('startAnvil() gives each caller a node of its own, and stop() ends it', async () => {
  const [one, other] = await Promise.all([startAnvil(), startAnvil()])
  expect(one.rpcUrl).not.toBe(other.rpcUrl)
  await Promise.all([one.stop(), other.stop()])
  expect(await stillRunning([one.pid, other.pid], 0)).toEqual([])
})

test('anvil ends with a process that is killed, and leaves no states of its many blocks on the disk', async () => {
  const wallet = '0x'.padEnd(42, '7')
  const home = mkdtempSync(join(tmpdir(), 'anvil-home-'))
  const program = `
    const { startAnvil } = await import(${JSON.stringify(`${import.meta.dir}/../../devnet/anvil.ts`)})
    const { createRpc } = await import(${JSON.stringify(`${import.meta.dir}/../../devnet/rpc.ts`)})
    const anvil = await startAnvil()
    const rpc = createRpc(anvil.rpcUrl)
    await rpc.call('anvil_setBalance', '${wallet}', '0x5')
    await rpc.call('anvil_mine', '0x258')
    await rpc.call('anvil_setBalance', '${wallet}', '0x6')
    await rpc.call('evm_mine')
    console.log(anvil.pid, await rpc.call('eth_getBalance', '${wallet}', '0x1'))
    await Bun.sleep(60_000)`
  const parent = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', env: { ...process.env, HOME: home } })
  try {
    const { value } = await parent.stdout.getReader().read()
    const [pid, balance] = new TextDecoder().decode(value).trim().split(' ')
    expect(balance).toBe('0x5')
    expect(await stillRunning([Number(pid)], 0)).toEqual([Number(pid)])
    parent.kill('SIGKILL')
    await parent.exited
    expect(await stillRunning([Number(pid)], 5_000)).toEqual([])
    expect(readdirSync(home)).toEqual([])
  } finally {
    parent.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  }
})
