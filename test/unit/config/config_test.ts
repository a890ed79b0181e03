import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { join, resolve } from 'node:path'
import { type Config, ConfigError, hostNames, readConfig } from '../../../src/config/config.ts'
import { AAVE_V4_DEPLOYMENTS, type AaveV4Deployment } from '../../../src/family/aave_v4/table.ts'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'

const MANAGER = '0xC36442b4a4522E871399CD717aBDD847Ab11FE88'
const FACTORY = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const FEED = '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6'

const SYSVAR = 'SysvarC1ock11111111111111111111111111111111'
const WRAPPED_SOL = 'So11111111111111111111111111111111111111112'

function noFile(): string {
  throw new Error('no such file')
}

function listMistakes(env: Record<string, string>, file = ''): readonly string[] {
  try {
    readConfig(env, file === '' ? noFile : () => file)
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
  return []
}

/** A family's settings by chain. */
function getSettings({ families }: Config, name: string): ReadonlyMap<number, unknown> {
  return families.find((family) => family.name === name)?.settings ?? new Map()
}

describe('readConfig()', () => {
  test('without any variable serves seven of the built-in chains on loopback with the embedded database', () => {
    const config = readConfig({}, noFile)
    expect(config.chains.map(({ id }) => id).sort((a, b) => a - b)).toEqual([1, 10, 56, 137, 8453, 42161, 43114])
    expect(config).toMatchObject({ port: 8080, host: '127.0.0.1', databaseUrl: undefined, dataDir: resolve('data') })
    for (const { id } of config.chains) expect(getSettings(config, 'uniswap-v3').get(id)).toBeArray()
  })

  test('DATA_DIR is taken from where the process is when it is read, and stays there', () => {
    expect(readConfig({ DATA_DIR: '../kept' }, noFile).dataDir).toBe(join(process.cwd(), '../kept'))
    expect(readConfig({ DATA_DIR: '/var/lib/kept' }, noFile).dataDir).toBe('/var/lib/kept')
  })

  test('an empty variable counts as absent', () => {
    const empty = readConfig({ PORT: '', CHAINS: ' ', DATABASE_URL: '' }, noFile)
    expect(JSON.stringify(empty)).toBe(JSON.stringify(readConfig({}, noFile)))
  })

  test('secrets and URLs may come from files, and lines of endpoints form the list', () => {
    const files: Readonly<Record<string, string>> = {
      '/run/token': 'a-token-of-the-operator\n',
      '/run/database': 'postgres://me:hush@localhost/app\n',
      '/run/rpc': 'https://one.example\nhttps://two.example\n',
      '/run/empty': '\n',
    }
    const readFile = (path: string) => files[path] ?? noFile()
    const env = {
      ADMIN_TOKEN_FILE: '/run/token',
      DATABASE_URL_FILE: '/run/database',
      RPC_URL_1_FILE: ' /run/rpc ',
      SOLANA_RPC_URL_FILE: '',
      PUBLIC_URL_FILE: '/run/empty',
      CHAINS: '1',
    }
    const config = readConfig({ ...env, PUBLIC_URL_FILE: '' }, readFile)
    expect(config).toMatchObject({
      adminToken: 'a-token-of-the-operator',
      databaseUrl: 'postgres://me:hush@localhost/app',
    })
    expect(config.chains.map(({ rpcUrls }) => rpcUrls)).toEqual([['https://one.example', 'https://two.example']])
    const wrong = {
      ...env,
      ADMIN_TOKEN: 'another-token-of-his',
      DATABASE_URL_FILE: '/run/rpc',
      RPC_URL_1_FILE: '/absent',
    }
    const mistakes = (() => {
      try {
        return readConfig(wrong, readFile)
      } catch (error) {
        return error instanceof ConfigError ? error.mistakes : error
      }
    })()
    expect(mistakes).toEqual([
      'ADMIN_TOKEN_FILE: expected either it or ADMIN_TOKEN',
      'DATABASE_URL_FILE: expected a file of one line',
      'RPC_URL_1_FILE: cannot read the file',
      'PUBLIC_URL_FILE: the file is empty',
      'DATABASE_URL: expected postgres://user:password@host:port/database',
    ])
  })

  test('WORKERS has an upper bound and excludes PIPELINING', () => {
    expect([readConfig({}, noFile).workers, readConfig({ WORKERS: '4' }, noFile).workers]).toEqual([1, 4])
    for (const WORKERS of ['0', '65', '-1', 'two', '1.5']) {
      expect(listMistakes({ WORKERS })).toEqual(['WORKERS: expected a whole number from 1 to 64'])
    }
    expect(listMistakes({ WORKERS: '2', PIPELINING: 'on' })).toEqual(['WORKERS: expected 1, as PIPELINING is on'])
  })

  test('TRUSTED_PROXIES are networks, and DRAIN_SECONDS at most ten minutes', () => {
    const config = readConfig({ TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1', DRAIN_SECONDS: '2.5' }, noFile)
    expect([config.trustedProxies.length, config.drainMs]).toEqual([2, 2_500])
    expect(readConfig({}, noFile).drainMs).toBe(0)
    expect(listMistakes({ TRUSTED_PROXIES: '10.0.0.1/8', DRAIN_SECONDS: '601' })).toEqual([
      'TRUSTED_PROXIES: expected addresses or networks such as 10.0.0.0/8, separated by commas',
      'DRAIN_SECONDS: expected a number of seconds, 600 at most',
    ])
  })

  test('LOG_RETENTION_DAYS is 90 or more, 0 for no limit, and 90 if absent', () => {
    const days = (text: string) => readConfig({ LOG_RETENTION_DAYS: text }, noFile).logRetentionDays
    expect(['', '0', '90', '3650'].map(days)).toEqual([90, 0, 90, 3_650])
    for (const wrong of ['89', '1', '-1', '90.5', '1e3', 'ever', '100000000']) {
      expect(listMistakes({ LOG_RETENTION_DAYS: wrong })).toEqual([
        'LOG_RETENTION_DAYS: expected a whole number of days, 90 or more, or 0 for ever',
      ])
    }
  })

  test('HISTORY_REQUESTS_PER_SECOND is 50 if absent, 0 for no limit, and 10,000 at most', () => {
    const rate = (text: string) => readConfig({ HISTORY_REQUESTS_PER_SECOND: text }, noFile).historyRequestsPerSecond
    expect(['', '0', '5', '10000'].map(rate)).toEqual([50, 0, 5, 10_000])
    for (const wrong of ['-1', '1.5', '10001', 'none']) {
      expect(listMistakes({ HISTORY_REQUESTS_PER_SECOND: wrong })).toEqual([
        'HISTORY_REQUESTS_PER_SECOND: expected a whole number of requests, 10000 at most, or 0 for no limit',
      ])
    }
  })

  test('SNAPSHOTS and MCP are on unless they are off', () => {
    const off = (env: Readonly<Record<string, string>>) => readConfig(env, noFile).featuresOff
    expect(off({})).toEqual([])
    expect(off({ SNAPSHOTS: 'on', MCP: '' })).toEqual([])
    expect(off({ MCP: 'off' })).toEqual(['mcp'])
    expect(off({ SNAPSHOTS: 'off', MCP: 'off' })).toEqual(['snapshots', 'mcp'])
    expect(off({ HISTORY: 'off' })).toEqual(['history'])
    for (const wrong of ['OFF', '0', 'false', 'no']) {
      expect(listMistakes({ SNAPSHOTS: wrong })).toEqual(['SNAPSHOTS: expected on or off'])
    }
  })

  test('RPC_URL_<id> replaces the endpoints and CHAINS chooses among chains', () => {
    const config = readConfig({ RPC_URL_1: 'http://a.test/x, https://b.test/', CHAINS: '1' }, noFile)
    expect(config.chains.map(({ id, rpcUrls }) => [id, rpcUrls])).toEqual([[1, ['http://a.test/x', 'https://b.test/']]])
  })

  test('the name of a chain in place of its id is a mistake that says so', () => {
    expect(listMistakes({ RPC_URL_ETHEREUM: 'http://a.test' })).toEqual([
      'RPC_URL_ETHEREUM: expected the id of a chain in its name, such as RPC_URL_1',
    ])
  })

  test('one mistake is told in one line, several in a line each', () => {
    const tell = (mistakes: readonly string[]) => new ConfigError(mistakes).message
    expect(tell(['PORT: a\nb'])).toBe('Cannot start with this configuration: PORT: a b')
    expect(tell(['PORT: a', 'HOST: b'])).toBe('Cannot start with this configuration:\n  PORT: a\n  HOST: b')
  })

  test('CHAINS serves any built-in chain, each over its public endpoints', () => {
    const all = FINANCE_CHAINS.map(({ id }) => id)
    expect(all.length).toBeGreaterThan(70)
    expect(readConfig({ CHAINS: all.join() }, noFile).chains).toEqual([...FINANCE_CHAINS])
    const [linea] = readConfig({ CHAINS: '59144' }, noFile).chains
    expect(linea?.name).toBe('Linea Mainnet')
    expect(linea?.rpcUrls).toContain('https://rpc.linea.build')
  })

  test('without CHAINS a chain that RPC_URL_<id> or CHAINS_FILE names is served beside the seven', () => {
    const listIds = (env: Record<string, string>, file = '') =>
      readConfig(env, file === '' ? noFile : () => file).chains.map(({ id }) => id)
    const seven = listIds({})
    expect(listIds({ RPC_URL_59144: 'http://a.test', RPC_URL_1: 'http://b.test' })).toEqual([...seven, 59_144])
    expect(listIds({ RPC_URL_59144: ' ' })).toEqual(seven)
    const rows = [31_337, 100, 1].map((id) => ({ id, name: `Chain ${id}`, rpcUrls: ['http://a.test'] }))
    expect(listIds({ CHAINS_FILE: 'f' }, JSON.stringify({ chains: rows }))).toEqual([...seven, 31_337, 100])
    expect(listIds({ RPC_URL_59144: 'http://a.test', CHAINS: '1' })).toEqual([1])
  })

  test('CHAINS_FILE adds a chain and lays its keys over a built-in one', () => {
    const file = JSON.stringify({
      chains: [
        {
          id: 31337,
          name: 'Devnet',
          rpcUrls: ['http://127.0.0.1:8545'],
          maxBlockAgeSec: 3_600,
          uniswapV3: [{ manager: MANAGER.toLowerCase(), factory: FACTORY }],
          aaveV3: [{ market: 'mine', poolAddressesProvider: FACTORY }],
          morphoBlue: { morpho: MANAGER, startBlock: 7 },
          prices: { usdFeeds: { [USDC]: FEED } },
        },
        { id: 1, name: 'Mine', rpcUrls: ['http://127.0.0.1:1'] },
      ],
    })
    const config = readConfig({ CHAINS_FILE: 'chains.json', CHAINS: '31337,1' }, () => file)
    const [devnet, ethereum] = config.chains
    expect(devnet?.prices.usdFeeds).toEqual({ [USDC]: { feed: FEED, heartbeatSec: 86_400 } })
    expect(getSettings(config, 'uniswap-v3').get(31337)).toEqual([
      { manager: MANAGER, factory: FACTORY, startBlock: 0, code: 'uniswap_v3' },
    ])
    expect(getSettings(config, 'aave-v3').get(31337)).toEqual([
      { market: 'mine', poolAddressesProvider: FACTORY, startBlock: 0 },
    ])
    expect(getSettings(config, 'morpho-blue').get(31337)).toEqual({ morpho: MANAGER, startBlock: 7 })
    expect(devnet?.maxBlockAgeSec).toBe(3_600)
    expect(ethereum).toMatchObject({ name: 'Mine', blockTimeMs: 12_000 })
    expect(JSON.stringify(getSettings(config, 'uniswap-v3').get(1))).toStartWith(`[{"manager":"${MANAGER}"`)
    expect(JSON.stringify(getSettings(config, 'aave-v3').get(1))).toStartWith('[{"market":"main"')
  })

  describe('a row of a built-in chain', () => {
    const read = (row: object) =>
      readConfig({ CHAINS_FILE: 'f', CHAINS: '1' }, () => JSON.stringify({ chains: [{ id: 1, ...row }] }))
    const market = { market: 'mine', poolAddressesProvider: FACTORY, startBlock: 7 }
    const listMarkets = (config: Config) =>
      (getSettings(config, 'aave-v3').get(1) as readonly { market: string }[]).map((each) => each.market)

    test('needs neither name nor endpoints', () => {
      const [built] = readConfig({ CHAINS: '1' }, noFile).chains
      expect(read({ maxBlockAgeSec: 99 }).chains).toEqual([{ ...(built as object), maxBlockAgeSec: 99 }] as never)
    })

    test('joins the lists under "add" to the built-in ones by their keys', () => {
      const built = readConfig({ CHAINS: '1' }, noFile)
      const [feedToken = FEED] = Object.keys(built.chains[0]?.prices.usdFeeds ?? {})
      const joined = read({
        add: {
          aaveV3: [market, { market: 'lido', poolAddressesProvider: MANAGER }],
          uniswapV3: [{ manager: MANAGER, factory: FEED }],
          prices: { usdFeeds: { [feedToken]: MANAGER, [MANAGER]: FEED }, stablecoins: [MANAGER] },
          spamTokens: [FEED],
        },
      })
      expect(listMarkets(joined).sort()).toEqual([...listMarkets(built), 'mine'].sort())
      expect(getSettings(joined, 'aave-v3').get(1)).toContainEqual({
        market: 'lido',
        poolAddressesProvider: MANAGER,
        startBlock: 0,
      })
      const managers = getSettings(joined, 'uniswap-v3').get(1) as readonly { manager: string; factory: string }[]
      expect(managers).toHaveLength((getSettings(built, 'uniswap-v3').get(1) as readonly unknown[]).length)
      expect(managers.filter(({ manager }) => manager === MANAGER).map(({ factory }) => factory)).toEqual([FEED])
      const prices = joined.chains[0]?.prices
      expect(Object.keys(prices?.usdFeeds ?? {}).sort()).toEqual(
        [...Object.keys(built.chains[0]?.prices.usdFeeds ?? {}), MANAGER].sort(),
      )
      expect(prices?.usdFeeds[feedToken as `0x${string}`]?.feed).toBe(MANAGER)
      expect(prices?.stablecoins).toEqual([...(built.chains[0]?.prices.stablecoins ?? []), MANAGER])
      expect(joined.chains[0]?.spamTokens).toEqual([FEED])
      // Of the built-in contracts only the market of lido has another provider now.
      expect(joined.omissions).toEqual([{ chainId: 1, omitted: ['debts in aave-v3 market lido'] }])
    })

    test('joins spokes of the built-in access manager to the built-in ones by their names', () => {
      const { accessManager, spokes } = AAVE_V4_DEPLOYMENTS.get(1) as AaveV4Deployment
      const added = { name: 'added', address: MANAGER, startBlock: 0 } as const
      const listSpokes = (manager: string, spoke: object) =>
        getSettings(read({ aaveV4: { accessManager: manager, spokes: [spoke] } }), 'aave-v4').get(1)
      expect(listSpokes(accessManager, added)).toEqual({ accessManager, spokes: [...spokes, added] })
      const [first, ...others] = spokes
      expect(listSpokes(accessManager, { ...added, name: first?.name })).toEqual({
        accessManager,
        spokes: [...others, { ...added, name: first?.name }],
      })
      expect(listSpokes(FEED, added)).toEqual({ accessManager: FEED, spokes: [added] })
    })

    test('leaves out what its lists lack, and the configuration names it, debts first', () => {
      const built = readConfig({ CHAINS: '1' }, noFile)
      const managers = getSettings(built, 'uniswap-v3').get(1) as readonly {
        manager: string
        code: string
        custodians?: readonly { kind: string; address: string }[]
      }[]
      const rest = managers.filter(({ manager }) => manager !== MANAGER)
      const { omissions } = read({
        uniswapV3: [{ manager: MANAGER, factory: FACTORY }],
        aaveV3: [market],
        morphoBlue: { morpho: FEED },
        prices: { usdFeeds: { [USDC]: FEED } },
      })
      const feeds = Object.keys(built.chains[0]?.prices.usdFeeds ?? {}).length - 1
      expect(rest.length).toBeGreaterThan(0)
      expect(omissions).toEqual([
        {
          chainId: 1,
          omitted: [
            ...listMarkets(built).map((name) => `debts in aave-v3 market ${name}`),
            'debts in morpho-blue at 0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb',
            ...rest.flatMap(({ manager, code, custodians = [] }) => [
              `positions in uniswap-v3 ${code}'s manager ${manager}`,
              ...custodians.map(({ kind, address }) => `positions in uniswap-v3 ${code}'s ${kind} ${address}`),
            ]),
            `${feeds} price feeds`,
          ],
        },
      ])
      expect(built.omissions).toEqual([])
      const other = JSON.stringify({ chains: [{ id: 1, aaveV3: [market] }] })
      expect(readConfig({ CHAINS_FILE: 'f', CHAINS: '10' }, () => other).omissions).toEqual([])
    })
  })

  test('CHAINS_FILE names wrappers, at most two of them around a token', () => {
    const [first, second, third] = [USDC, FEED, MANAGER]
    const readPrices = (wrappers: object[]) => {
      const row = { id: 31337, name: 'Devnet', rpcUrls: ['http://a.test'], prices: { wrappers } }
      const [chain] = readConfig({ CHAINS_FILE: 'f', CHAINS: '31337' }, () => JSON.stringify({ chains: [row] })).chains
      return chain?.prices.wrappers
    }
    const two = [
      { token: first.toLowerCase(), kind: 'erc4626', of: second },
      { token: second, kind: 'exchangeRate', of: third },
    ]
    expect(JSON.stringify(readPrices(two))).toBe(
      JSON.stringify({ [first]: { kind: 'erc4626', of: second }, [second]: { kind: 'exchangeRate', of: third } }),
    )
    const deep = 'expected at most 2 wrappers around a token, and none around itself'
    expect(() => readPrices([...two, { token: third, kind: 'erc4626', of: FACTORY }])).toThrow(deep)
    expect(() => readPrices([{ token: first, kind: 'erc4626', of: first }])).toThrow(deep)
    expect(() => readPrices([...two, { token: first, kind: 'erc4626', of: third }])).toThrow('expected each token once')
    expect(() => readPrices([{ token: first, kind: 'native', of: second }])).toThrow('wrappers')
  })

  test('a row of CHAINS_FILE sets block time and reuse of answers separately', () => {
    const row = { id: 1, name: 'Mine', rpcUrls: ['http://127.0.0.1:1'] }
    const readChain = (changes: object, id = 1) => {
      const file = JSON.stringify({ chains: [{ ...row, id, ...changes }] })
      const [chain] = readConfig({ CHAINS_FILE: 'f', CHAINS: String(id) }, () => file).chains
      return { blockTimeMs: chain?.blockTimeMs, reuseMs: chain?.reuseMs, native: chain?.nativeCurrency }
    }
    const native = FINANCE_CHAINS[0]?.nativeCurrency
    expect(readChain({})).toEqual({ blockTimeMs: 12_000, reuseMs: 12_000, native })
    expect(readChain({ reuseMs: 0 })).toEqual({ blockTimeMs: 12_000, reuseMs: 0, native })
    expect(readChain({ blockTimeMs: 2_000 })).toEqual({ blockTimeMs: 2_000, reuseMs: 2_000, native })
    expect(readChain({ blockTimeMs: 0 })).toEqual({ blockTimeMs: undefined, reuseMs: 0, native })
    expect(readChain({ blockTimeMs: 0, reuseMs: 500 })).toEqual({ blockTimeMs: undefined, reuseMs: 500, native })
    expect(readChain({}, 5)).toEqual({ blockTimeMs: undefined, reuseMs: 0, native: undefined })
    const prices = { wrappedNative: MANAGER }
    expect(readChain({ prices }).native).toEqual({ symbol: 'ETH', name: 'Ether', decimals: 18, wrapped: MANAGER })
    expect(readChain({ prices }, 5).native).toEqual({ wrapped: MANAGER })
  })

  test('CHAINS leaves Solana out unless it names 101, or an endpoint is given', () => {
    const endpoints = (env: Record<string, string>) => readConfig(env, noFile).solana.rpcUrls.length
    expect(endpoints({})).toBe(3)
    expect(endpoints({ CHAINS: '1' })).toBe(0)
    expect(endpoints({ CHAINS: '1,101' })).toBe(3)
    expect(endpoints({ CHAINS: '1', SOLANA_RPC_URL: 'http://a.test' })).toBe(1)
    expect(readConfig({ CHAINS: '101' }, noFile).chains).toEqual([])
  })

  test.each([',', '0x1', '1e0', '01', '1.0', '-1'])('refuses %p as CHAINS', (chains) => {
    expect(listMistakes({ CHAINS: chains })).toEqual([
      'CHAINS: expected ids of chains in plain digits, separated by commas',
    ])
  })

  test('names the unknown chains, and does not list the many known ones', () => {
    expect(listMistakes({ CHAINS: '1,2,101,4242', RPC_URL_77: 'http://a.test' }).toSorted()).toEqual([
      'CHAINS: 2, 4242: no such chain is built in; describe it in CHAINS_FILE',
      'RPC_URL_77: no such chain is built in; describe it in CHAINS_FILE',
    ])
  })

  test('refuses an endpoint for an id that is not in plain digits', () => {
    expect(listMistakes({ RPC_URL_0x1: 'http://a.test' })).toHaveLength(1)
  })

  test('SOLANA_RPC_URL wins over the file, and the file over the public endpoint', () => {
    const file = JSON.stringify({ solana: { rpcUrls: ['http://127.0.0.1:8899'], slotMs: 450 } })
    expect(readConfig({}, noFile).solana.rpcUrls).toHaveLength(3)
    const fromFile = readConfig({ CHAINS_FILE: 'f' }, () => file).solana
    expect(fromFile).toMatchObject({ rpcUrls: ['http://127.0.0.1:8899'], slotMs: 450 })
    const { solana } = readConfig({ CHAINS_FILE: 'f', SOLANA_RPC_URL: 'http://a.test,http://b.test' }, () => file)
    expect(solana.rpcUrls).toEqual(['http://a.test', 'http://b.test'])
  })

  test.each([
    ['credentials that do not decode', 'https://user:%ZZ@host.test/'],
    ['a name that does not decode', 'https://%E2%82:pw@host.test/'],
    ['a fragment', 'https://host.test/#part'],
    ['an empty fragment', 'https://host.test/#'],
    ['no host', 'https:///'],
    ['port 0', 'https://host.test:0/'],
    ['a space', 'https://host.test/a b'],
    ['a line break', 'https://host.test/a\nb'],
    ['another scheme', 'ws://host.test/'],
  ])('refuses an endpoint with %s, in a variable and in the file, without showing it', (_name, url) => {
    const file = JSON.stringify({ chains: [{ id: 5, name: 'x', rpcUrls: [url] }], solana: { rpcUrls: [url] } })
    const mistakes = listMistakes({ RPC_URL_1: url, SOLANA_RPC_URL: url, CHAINS_FILE: 'f' }, file)
    const expected = 'an http or https URL without fragment, its name and password percent-encoded'
    expect(mistakes).toEqual([
      `CHAINS_FILE: chains.0.rpcUrls.0: expected ${expected}`,
      `CHAINS_FILE: solana.rpcUrls.0: expected ${expected}`,
      `RPC_URL_1: expected URLs, separated by commas, each ${expected}`,
      `SOLANA_RPC_URL: expected URLs, separated by commas, each ${expected}`,
    ])
  })

  test('takes endpoints with any name and password that decode', () => {
    const url = 'https://us%E2%82%ACer:p%40ss%3A@host.test:8545/v2/key?x=1'
    expect(readConfig({ RPC_URL_1: url, CHAINS: '1' }, noFile).chains[0]?.rpcUrls).toEqual([url])
  })

  test.each(['https://user:pw@api.test', 'https://user@api.test', 'https://:pw@api.test', 'https://api.test/?'])(
    'refuses %s as PUBLIC_URL, which every caller reads in links',
    (url) => {
      expect(listMistakes({ PUBLIC_URL: url })).toEqual([
        'PUBLIC_URL: expected an absolute http or https URL without name, password, query or fragment',
      ])
    },
  )

  test('ALLOWED_HOSTS are names as browsers send them, which join those of HOST and PUBLIC_URL', () => {
    const listNames = (env: Record<string, string>) => hostNames(readConfig(env, noFile))
    expect(listNames({})).toEqual([])
    expect(listNames({ HOST: '::' })).toEqual([])
    expect(listNames({ HOST: 'box.lan', PUBLIC_URL: 'https://API.example.org:8443/x' })).toEqual([
      'box.lan',
      'api.example.org',
    ])
    expect(listNames({ ALLOWED_HOSTS: 'Walletscope, walletscope.default.svc., bücher.example' })).toEqual([
      'walletscope',
      'walletscope.default.svc',
      'xn--bcher-kva.example',
    ])
    expect(listNames({ ALLOWED_HOSTS: '*' })).toEqual(['*'])
    for (const wrong of ['a:80', 'https://a', 'a b', '10.0.0.1', '[::1]', '*.example.org', 'a/b', ',', 'a?', 'u@a']) {
      expect(listMistakes({ ALLOWED_HOSTS: wrong })).toEqual([
        'ALLOWED_HOSTS: expected names of hosts without ports, separated by commas, or *',
      ])
    }
  })

  test('OPERATOR_PORT is absent by default, and is another port than PORT unless the system chooses both', () => {
    expect(readConfig({}, noFile).operatorPort).toBeUndefined()
    expect(readConfig({ OPERATOR_PORT: '9090' }, noFile).operatorPort).toBe(9090)
    expect(readConfig({ OPERATOR_PORT: '0', PORT: '0' }, noFile).operatorPort).toBe(0)
    expect(listMistakes({ OPERATOR_PORT: '8080' })).toEqual(['OPERATOR_PORT: expected another port than PORT'])
    expect(listMistakes({ OPERATOR_PORT: '-1' })).toEqual(['OPERATOR_PORT: expected a port number from 0 to 65535'])
  })

  test('the maximum age of a Solana slot is a minute, twenty slow slots, or the value of the file', () => {
    const readSlotAge = (solana: object) =>
      readConfig({ CHAINS_FILE: 'f' }, () => JSON.stringify({ solana })).solana.maxSlotAgeSec
    expect(readConfig({}, noFile).solana.maxSlotAgeSec).toBe(60)
    expect([readSlotAge({}), readSlotAge({ slotMs: 10_000 }), readSlotAge({ maxSlotAgeSec: 86_400 })]).toEqual([
      60, 200, 86_400,
    ])
  })

  test('the programs of Kamino and Scope are those of mainnet, or those of the file', () => {
    const klend = 'KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD'
    const scope = 'HFn8GnPADiny6XqUoWE8uRPPxb29ikn4yTuPa9MF2fWJ'
    const file = JSON.stringify({ solana: { klendProgram: scope, scopeProgram: klend } })
    const getPrograms = (config: Config) => getSettings(config, 'kamino').get(101)
    expect(getPrograms(readConfig({}, noFile))).toMatchObject({ program: { programId: klend, scopeProgramId: scope } })
    const fromFile = readConfig({ CHAINS_FILE: 'f' }, () => file)
    expect(getPrograms(fromFile)).toMatchObject({ program: { programId: scope, scopeProgramId: klend } })
  })

  test('markets of Kamino in the file, with reserves and lookup table, are looked at besides those built in', () => {
    const main = '7u3HeHxYDLhnCoErrtycNokbQYbWGzLs6JSDqGAv5PfF'
    const [market, table, reserve] = ['d4A2prbA2whesmvHaL88BH6Ewn5N4bTSU2Ze8P6Bc4Q', SYSVAR, WRAPPED_SOL]
    const readRows = (kaminoMarkets: readonly object[]) => {
      const file = JSON.stringify({ solana: { kaminoMarkets } })
      const setting = getSettings(
        readConfig({ CHAINS_FILE: 'f' }, () => file),
        'kamino',
      ).get(101)
      return (setting as { readonly rows: readonly { market: string; reserves: readonly string[] }[] }).rows
    }
    const builtIn = readRows([])
    expect(builtIn.length).toBe(8)
    const row = { market, lookupTable: table, reserves: [reserve] }
    expect(readRows([row])).toEqual([...builtIn, row])
    const [first, ...others] = readRows([{ market: main, reserves: [reserve, reserve] }])
    expect(others).toEqual(builtIn.slice(1))
    expect(first).toEqual({ ...(builtIn[0] as object), reserves: [...(builtIn[0]?.reserves ?? []), reserve] } as never)
  })

  test('lists every mistake at once and shows no value', () => {
    const secret = 'hunter2'
    const mistakes = listMistakes({
      PORT: '65536',
      DATABASE_URL: `mysql://root:${secret}@db/x`,
      PUBLIC_URL: `ftp://${secret}`,
      CORS_ORIGINS: `https://a.test/${secret}`,
      LOG_LEVEL: secret,
      RPC_URL_1: `not a url ${secret}`,
      RPC_URL_77: `https://x.test/${secret}`,
      CHAINS: '1,2',
      SOLANA_RPC_URL: secret,
    })
    expect(mistakes.map((line) => line.split(':')[0]).sort()).toEqual(
      [
        'CHAINS',
        'CORS_ORIGINS',
        'DATABASE_URL',
        'LOG_LEVEL',
        'PORT',
        'PUBLIC_URL',
        'RPC_URL_1',
        'RPC_URL_77',
        'SOLANA_RPC_URL',
      ].sort(),
    )
    expect(mistakes.join()).not.toContain(secret)
  })

  test.each([
    ['not json', '{', 'expected valid JSON'],
    ['an unknown key', '{"chains":[],"chain":1}', 'CHAINS_FILE: chain: there is no such setting'],
    ['an array in place of an object', '[]', 'CHAINS_FILE: expected an object with "chains"'],
    [
      'no name',
      '{"chains":[{"id":5,"rpcUrls":["http://a"]}]}',
      'chains.0.name: it is required, because chain 5 is not built in',
    ],
    ['no endpoints', '{"chains":[{"id":5,"name":"x"}]}', 'chains.0.rpcUrls: it is required, because chain 5 is not'],
    ['an entry to add that is no list', '{"chains":[{"id":1,"add":{"morphoBlue":{}}}]}', 'there is no such setting'],
    [
      'a quote too many',
      `{"chains":[{"id":1,"add":{"prices":{"quotes":["${MANAGER}","${FACTORY}","${FEED}"]}}}]}`,
      'chains.0.add.prices.quotes: expected at most 4 tokens, with those they are added to',
    ],
    [
      'a wrapper around wrappers',
      `{"chains":[{"id":1,"add":{"prices":{"wrappers":[{"token":"${USDC}","kind":"erc4626","of":"${FEED}"},{"token":"${FEED}","kind":"erc4626","of":"0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"}]}}}]}`,
      'chains.0.add.prices.wrappers: expected at most 2 wrappers around a token',
    ],
    [
      'the id of Solana',
      '{"chains":[{"id":101,"name":"x","rpcUrls":["http://a"]}]}',
      "chains.0.id: expected another id, 101 is Solana's",
    ],
    [
      'a feed that is none',
      '{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"prices":{"usdFeeds":{"0x1":7}}}]}',
      'usdFeeds.0x1: expected the address of a feed',
    ],
    [
      'a manager twice',
      `{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"uniswapV3":[${Array(2).fill(`{"manager":"${MANAGER}","factory":"${FACTORY}"}`).join()}]}]}`,
      `manager ${MANAGER} of chain 5 is described twice`,
    ],
    [
      'a market twice',
      `{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"aaveV3":[${Array(2).fill(`{"market":"main","poolAddressesProvider":"${FACTORY}"}`).join()}]}]}`,
      'market "main" of chain 5 is described twice',
    ],
    [
      'a market under two names',
      `{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"aaveV3":[{"market":"main","poolAddressesProvider":"${FACTORY}"},{"market":"core_v3","poolAddressesProvider":"${FACTORY.toLowerCase()}"}]}]}`,
      `the market of provider ${FACTORY} of chain 5 is described twice`,
    ],
    [
      'two feeds of one token',
      `{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"prices":{"usdFeeds":{"${USDC}":"${FEED}","${USDC.toLowerCase()}":"${MANAGER}"}}}]}`,
      'expected each token once, in one spelling',
    ],
    ['a bad address', `{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"spamTokens":["0x12"]}]}`, 'spamTokens.0'],
    ['a program that is none', '{"solana":{"klendProgram":"0x12"}}', 'solana.klendProgram'],
    ['a program of prices that is none', '{"solana":{"scopeProgram":"0x12"}}', 'solana.scopeProgram'],
    ['slots of no age', '{"solana":{"maxSlotAgeSec":0}}', 'solana.maxSlotAgeSec'],
    [
      'a tolerance of nothing',
      '{"chains":[{"id":5,"name":"x","rpcUrls":["http://a.test"],"maxBlockAgeSec":0}]}',
      'chains.0.maxBlockAgeSec: expected >=1',
    ],
    ['no endpoint', '{"chains":[{"id":5,"name":"x","rpcUrls":[]}]}', 'chains.0.rpcUrls: expected 1 to 32 URLs'],
    [
      'a chain twice',
      '{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"]},{"id":5,"name":"x","rpcUrls":["http://a"]}]}',
      'twice',
    ],
  ])('refuses a CHAINS_FILE with %s', (_name, file, expected) => {
    expect(listMistakes({ CHAINS_FILE: 'f' }, file).join()).toContain(expected)
  })

  test('an INSTANCE_KEY_FILE is a key of Ed25519, and one that holds the public key too is named', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const der = privateKey.export({ format: 'der', type: 'pkcs8' })
    const publicBytes = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
    const toPem = (bytes: Uint8Array) =>
      `-----BEGIN PRIVATE KEY-----\n${Buffer.from(bytes).toString('base64')}\n-----END PRIVATE KEY-----\n`
    // As Java and Rust write it: version 1 in place of 0, and the public key as field 1.
    const body = Buffer.concat([Buffer.from([2, 1, 1]), der.subarray(5), Buffer.from([0x81, 33, 0]), publicBytes])
    const second = toPem(Buffer.concat([Buffer.from([0x30, body.length]), body]))
    const mistakes = (file: string) => listMistakes({ INSTANCE_KEY_FILE: 'f' }, file)
    expect(mistakes(toPem(der))).toEqual([])
    const expected = 'INSTANCE_KEY_FILE: expected a private key of Ed25519 in PEM (PKCS #8)'
    expect(mistakes('no key')).toEqual([expected])
    expect(mistakes(second)).toEqual([
      `${expected} version 1, got version 2, which holds the public key as well; write the private key alone`,
    ])
  })

  test('refuses a CHAINS_FILE that cannot be read', () => {
    expect(listMistakes({ CHAINS_FILE: '/secret/path' })).toEqual(['CHAINS_FILE: cannot read the file'])
  })
})
