import { expect, test } from 'bun:test'
import { startAnvil } from './anvil.ts'
import { stillRunning } from './processes.ts'
import { createRpc } from './rpc.ts'

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

test('anvil does not outlive a process that is killed with SIGKILL', async () => {
  const program = `
    const { startAnvil } = await import(${JSON.stringify(`${import.meta.dir}/anvil.ts`)})
    console.log((await startAnvil()).pid)
    await Bun.sleep(60_000)`
  const parent = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe' })
  const { value } = await parent.stdout.getReader().read()
  const pid = Number(new TextDecoder().decode(value))
  expect(await stillRunning([pid], 0)).toEqual([pid])
  parent.kill('SIGKILL')
  await parent.exited
  expect(await stillRunning([pid], 5_000)).toEqual([])
})
