import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WALLETS } from '../../devnet/addresses.ts'
import { startAnvil } from '../../devnet/anvil.ts'
import { MORPHO_WALLETS } from '../../devnet/morpho_blue/scenario.ts'
import { descendants, stillRunning } from '../../devnet/processes.ts'
import { createRpc } from '../../devnet/rpc.ts'
import { eachLine } from '../../devnet/supervised.ts'
import { IS_FULL } from '../../support/cases.ts'
import { OBLIGATION } from '../../support/kamino_scene.ts'
import { ORCA_MINT } from '../../support/orca_scene.ts'
import { waitFor } from '../../support/wait_for.ts'

describe('the demo', async () => {
  /** More than a busy machine takes. */
  const READY_LIMIT_MS = 90_000
  /** With the compilation of the lending protocols, if this machine has not done it yet. */
  const LENDING_LIMIT_MS = 240_000

  const directories: string[] = []

  afterAll(() => {
    for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  })

  test(
    'the demo gets ready, its curl lines work, and Ctrl-C leaves nothing running',
    async () => {
      const demo = await startDemo()
      const curls = () => demo.lines.filter((line) => line.trim().startsWith('curl '))
      const bodies = await Promise.all(curls().slice(0, 3).map(paste))
      const patience = AbortSignal.timeout(LENDING_LIMIT_MS)
      while (curls().length < 9 && !patience.aborted) await Bun.sleep(50)
      const find = (pattern: RegExp) =>
        demo.lines.map((line) => pattern.exec(line)?.[1] ?? '').find((text) => text !== '')
      const chainId = await createRpc(find(/^The chain is at (\S+)$/) ?? '').call<string>('eth_chainId')
      const login = await run(find(/^ {2}(DATA_DIR=.+ login)$/) ?? '')
      const lending = await Promise.all(curls().slice(3).map(paste))
      const readme = await Bun.file(join(import.meta.dir, '../../../README.md')).text()
      const pids = [demo.pid, ...descendants(demo.pid).map(({ pid }) => pid)]
      demo.signal('SIGINT')

      expect([chainId, login]).toEqual([
        '0x1',
        expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/login\?ws_login_\w+\n$/),
      ])
      const keyLines = demo.lines.filter((line) => /API key.*: ws_sk_[0-9A-Za-z]{24}$/.test(line))
      expect(keyLines).toHaveLength(1)
      const [list, full, single] = bodies as [ListBody, ListBody, SingleBody]
      expect(list.data.map(({ wallet }) => wallet)).toEqual(Array(8).fill(WALLETS.provider))
      expect(list.counts).toMatchObject({ totalActive: 8, totalInactive: 2, errors: 0 })
      expect(full.data).toHaveLength(8)
      expect(full.data[0]).toContainKeys(['amounts', 'uncollected_fees', 'in_range'])
      expect(single.data).toMatchObject({ token_id: '1', wallet: WALLETS.provider, is_active: true })

      const [v4, portfolio, aave, , comet, morpho, vaults, kamino, orca] = lending as [
        ListBody,
        SingleBody,
        AaveBody,
        AaveBody,
        AaveBody,
        SingleBody,
        ListBody,
        AaveBody,
        ListBody,
      ]
      expect(v4.data.map(({ wallet }) => wallet)).toEqual(Array(5).fill(WALLETS.provider))
      expect(v4.data).toContainEqual(expect.objectContaining({ withdrawable_error: 'reverts' }))
      expect(portfolio.data).toMatchObject({ complete: true, net_worth_usd: expect.stringMatching(/^[1-9]\d*\./) })
      expect(aave.data[0]?.positions.map(({ marketId }) => marketId)).toEqual(['main', 'lido', 'etherfi'])
      expect(comet.data).toMatchObject([{ positions: [{ marketId: 'usdc' }] }])
      expect(morpho.data).toMatchObject({
        wallet: MORPHO_WALLETS.borrower,
        net_daily_interest_usd: expect.stringMatching(/^-0\.\d*[1-9]/),
      })
      expect(vaults.data).toMatchObject([{ vault: { kind: 'erc4626' }, limited_by: null, reason: null }])
      expect(kamino.data).toMatchObject([{ positions: [{ obligation_address: OBLIGATION, healthFactor: '2.0000' }] }])
      expect(orca.data).toMatchObject([{ token_id: ORCA_MINT, in_range: true, usd: { token0_price: '150.000000' } }])

      const shown = [
        ...readme.matchAll(/"http:\/\/127\.0\.0\.1:8080(\/v1\/\S+0x[0-9a-fA-F]{40}\S*|\/v1\/\S+kamino\S+)"/g),
      ]
      expect(shown).toHaveLength(5)
      for (const [, target] of shown) expect(curls().some((line) => line.endsWith(`${target}'`))).toBe(true)

      expect(pids.length).toBeGreaterThan(3)
      expect(await demo.exited).toBe(0)
      expect(await stillRunning(pids, 20_000)).toEqual([])
      expect(readdirSync(demo.directory)).toEqual([])
    },
    LENDING_LIMIT_MS + 60_000,
  )

  test.each([
    ['bin/anvil --port', 'The local Ethereum'],
    ...(IS_FULL ? [['main.ts serve', 'The service'] as const] : []),
  ])(
    'the demo says so and takes the rest along when "%s" dies',
    async (command, name) => {
      const demo = await startDemo()
      const below = descendants(demo.pid)
      // Its watcher carries the same arguments behind `sh -c`.
      const victim = below.find((one) => one.command.includes(command) && !one.command.startsWith('sh '))
      if (victim === undefined) throw new Error(`Cannot find ${command} in the demo`)
      process.kill(victim.pid, 'SIGKILL')

      expect(await demo.exited).toBe(1)
      expect(demo.lines.join('\n')).toContain(`${name} ended by itself`)
      const pids = below.map(({ pid }) => pid)
      expect(await stillRunning(pids, 20_000)).toEqual([])
      expect(readdirSync(demo.directory)).toEqual([])
    },
    180_000,
  )

  /** What a package runner is started by; npx if its cache has the package, so that nothing is fetched here. */
  const STARTERS: readonly { readonly starter: string; readonly command: readonly string[] }[] = [
    { starter: 'bun run', command: [process.execPath, 'run', 'demo'] },
    ...(hasNpx() ? [{ starter: 'npx', command: ['npx', '--yes', '--offline', 'bun@1.4.5', 'run', 'demo'] }] : []),
  ]

  function hasNpx(): boolean {
    if (Bun.which('npx') === null) return false
    return Bun.spawnSync(['npx', '--yes', '--offline', 'bun@1.4.5', '--version']).success
  }

  /** npm forwards each signal differently; SIGKILL, which cannot be forwarded, shows that both are watched. */
  const ENDINGS = STARTERS.flatMap((each) => {
    const signals = IS_FULL ? (['SIGINT', 'SIGTERM', 'SIGKILL'] as const) : (['SIGKILL'] as const)
    return signals.map((signal) => ({ ...each, signal }))
  })

  test.each(ENDINGS)(
    'a $signal to $starter alone ends the demo that it started, and leaves nothing running',
    async ({ command, signal }) => {
      const demo = await startDemo(command)
      const below = descendants(demo.pid)
      expect(below.some((one) => one.command.includes('main.ts serve'))).toBe(true)
      process.kill(demo.pid, signal)
      const left = await stillRunning(
        below.map(({ pid }) => pid),
        20_000,
      )
      // Who fails here must not live on until the machine ends.
      for (const pid of left) process.kill(pid, 'SIGKILL')
      expect(left).toEqual([])
      await waitFor(
        'its directory to be gone',
        () => !readdirSync(demo.directory).some((name) => /^walletscope-/.test(name)),
      )
      await demo.exited
    },
    180_000,
  )

  interface ListBody {
    readonly data: readonly { readonly wallet: string }[]
    readonly counts: object
  }

  interface AaveBody {
    readonly data: readonly { readonly positions: readonly { readonly marketId: string }[] }[]
  }

  interface SingleBody {
    readonly data: object
  }

  interface RunningDemo {
    readonly pid: number
    /** Stands in for the system's directory of temporary files. */
    readonly directory: string
    /** What it printed, up to now. */
    readonly lines: readonly string[]
    readonly exited: Promise<number>
    signal(name: 'SIGINT'): void
  }

  /** Starts the demo as a user would and waits for its last line. */
  async function startDemo(
    command: readonly string[] = [process.execPath, join(import.meta.dir, '../../devnet/demo.ts')],
  ): Promise<RunningDemo> {
    const directory = mkdtempSync(join(tmpdir(), 'ws-'))
    directories.push(directory)
    const child = Bun.spawn([...command], {
      cwd: join(import.meta.dir, '../../..'),
      // The suite ends whatever its tests leave behind; a demo that a user starts ends by itself, and tidies up.
      env: { ...process.env, TMPDIR: directory, BUN_FEATURE_FLAG_NO_ORPHANS: undefined },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const lines: string[] = []
    const ready = Promise.withResolvers<void>()
    void eachLine(child.stdout, (line) => {
      lines.push(line)
      if (line.startsWith('Ctrl-C stops everything')) ready.resolve()
    })
    const limit = setTimeout(
      () => ready.reject(new Error(`Cannot start the demo: not ready in time: ${lines.join('\n')}`)),
      READY_LIMIT_MS,
    )
    void child.exited.then((status) =>
      ready.reject(new Error(`Cannot start the demo: status ${status}: ${lines.join('\n')}`)),
    )
    try {
      await ready.promise
    } catch (error) {
      child.kill('SIGTERM')
      await child.exited
      throw error
    } finally {
      clearTimeout(limit)
    }
    return { pid: child.pid, directory, lines, exited: child.exited, signal: (name) => child.kill(name) }
  }

  /** Runs a line in a shell, as if pasted there. */
  async function paste(line: string): Promise<unknown> {
    return JSON.parse(await run(line))
  }

  function run(line: string): Promise<string> {
    return new Response(Bun.spawn(['sh', '-c', line], { stdout: 'pipe' }).stdout).text()
  }
})

describe('a chain', async () => {
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
      expect(await stillRunning([Number(pid)], 20_000)).toEqual([])
      expect(readdirSync(home)).toEqual([])
    } finally {
      parent.kill('SIGKILL')
      rmSync(home, { recursive: true, force: true })
    }
  })
})
