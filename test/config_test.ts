import { describe, expect, test } from 'bun:test'
import { ConfigError, readConfig } from '../src/config.ts'

const MANAGER = '0xC36442b4a4522E871399CD717aBDD847Ab11FE88'
const FACTORY = '0x1F98431c8aD98523631AE4a59f267346ea31F984'
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
const FEED = '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6'

function noFile(): string {
  throw new Error('no such file')
}

function mistakesOf(env: Record<string, string>, file = ''): readonly string[] {
  try {
    readConfig(env, file === '' ? noFile : () => file)
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes
    throw error
  }
  return []
}

describe('readConfig()', () => {
  test('without any variable serves the seven built-in chains on loopback with the embedded database', () => {
    const config = readConfig({}, noFile)
    expect(config.chains.map(({ id }) => id).sort((a, b) => a - b)).toEqual([1, 10, 56, 137, 8453, 42161, 43114])
    expect(config).toMatchObject({ port: 8080, host: '127.0.0.1', databaseUrl: undefined, dataDir: './data' })
    for (const { id } of config.chains) expect(config.deployments.uniswapV3.get(id)?.length).toBeGreaterThan(0)
  })

  test('an empty variable counts as absent', () => {
    expect(readConfig({ PORT: '', CHAINS: ' ', DATABASE_URL: '' }, noFile)).toEqual(readConfig({}, noFile))
  })

  test('LOG_RETENTION_DAYS is 90 or more, 0 for ever, and 90 if absent', () => {
    const days = (text: string) => readConfig({ LOG_RETENTION_DAYS: text }, noFile).logRetentionDays
    expect(['', '0', '90', '3650'].map(days)).toEqual([90, 0, 90, 3_650])
    for (const wrong of ['89', '1', '-1', '90.5', '1e3', 'ever', '100000000']) {
      expect(mistakesOf({ LOG_RETENTION_DAYS: wrong })).toEqual([
        'LOG_RETENTION_DAYS: expected a whole number of days, 90 or more, or 0 for ever',
      ])
    }
  })

  test('RPC_URL_<id> replaces the endpoints and CHAINS chooses among chains', () => {
    const config = readConfig({ RPC_URL_1: 'http://a.test/x, https://b.test/', CHAINS: '1' }, noFile)
    expect(config.chains.map(({ id, rpcUrls }) => [id, rpcUrls])).toEqual([[1, ['http://a.test/x', 'https://b.test/']]])
  })

  test('CHAINS_FILE adds a chain and lays its keys over a built-in one', () => {
    const file = JSON.stringify({
      chains: [
        {
          id: 31337,
          name: 'Devnet',
          rpcUrls: ['http://127.0.0.1:8545'],
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
    expect(config.deployments.uniswapV3.get(31337)).toEqual([
      { manager: MANAGER, factory: FACTORY, startBlock: 0, code: 'uniswap_v3' },
    ])
    expect(config.deployments.aaveV3.get(31337)).toEqual([
      { market: 'mine', poolAddressesProvider: FACTORY, startBlock: 0 },
    ])
    expect(config.deployments.morphoBlue.get(31337)).toEqual({ morpho: MANAGER, startBlock: 7 })
    expect(ethereum).toMatchObject({ name: 'Mine', blockTimeMs: 12_000 })
    expect(config.deployments.uniswapV3.get(1)?.[0]?.manager).toBe(MANAGER)
    expect(config.deployments.aaveV3.get(1)).toHaveLength(3)
  })

  test('CHAINS leaves Solana out unless it names 101, or an endpoint is given', () => {
    const endpoints = (env: Record<string, string>) => readConfig(env, noFile).solana.rpcUrls.length
    expect(endpoints({})).toBe(1)
    expect(endpoints({ CHAINS: '1' })).toBe(0)
    expect(endpoints({ CHAINS: '1,101' })).toBe(1)
    expect(endpoints({ CHAINS: '1', SOLANA_RPC_URL: 'http://a.test' })).toBe(1)
    expect(readConfig({ CHAINS: '101' }, noFile).chains).toEqual([])
  })

  test.each([',', '0x1', '1e0', '01', '1.0', '-1'])('refuses %p as CHAINS', (chains) => {
    expect(mistakesOf({ CHAINS: chains })).toEqual([expect.stringMatching(/^CHAINS: expected ids .*, 101\)/)])
  })

  test('refuses an endpoint for an id that is not in plain digits', () => {
    expect(mistakesOf({ RPC_URL_0x1: 'http://a.test' })).toHaveLength(1)
  })

  test('SOLANA_RPC_URL wins over the file, and the file over the public endpoint', () => {
    const file = JSON.stringify({ solana: { rpcUrls: ['http://127.0.0.1:8899'], slotMs: 450 } })
    expect(readConfig({}, noFile).solana.rpcUrls).toHaveLength(1)
    const fromFile = readConfig({ CHAINS_FILE: 'f' }, () => file).solana
    expect(fromFile).toMatchObject({ rpcUrls: ['http://127.0.0.1:8899'], program: { slotMs: 450 } })
    const { solana } = readConfig({ CHAINS_FILE: 'f', SOLANA_RPC_URL: 'http://a.test,http://b.test' }, () => file)
    expect(solana.rpcUrls).toEqual(['http://a.test', 'http://b.test'])
  })

  test('lists every mistake at once and shows no value', () => {
    const secret = 'hunter2'
    const mistakes = mistakesOf({
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
    ['no name', '{"chains":[{"id":5,"rpcUrls":["http://a"]}]}', 'chains.0.name: it is required'],
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
    ['a bad address', `{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"],"multicall3":"0x12"}]}`, 'multicall3'],
    ['a program that is none', '{"solana":{"klendProgram":"0x12"}}', 'solana.klendProgram'],
    ['no endpoint', '{"chains":[{"id":5,"name":"x","rpcUrls":[]}]}', 'chains.0.rpcUrls: expected 1 to 32 URLs'],
    [
      'a chain twice',
      '{"chains":[{"id":5,"name":"x","rpcUrls":["http://a"]},{"id":5,"name":"x","rpcUrls":["http://a"]}]}',
      'twice',
    ],
  ])('refuses a CHAINS_FILE with %s', (_name, file, expected) => {
    expect(mistakesOf({ CHAINS_FILE: 'f' }, file).join()).toContain(expected)
  })

  test('refuses a CHAINS_FILE that cannot be read', () => {
    expect(mistakesOf({ CHAINS_FILE: '/secret/path' })).toEqual(['CHAINS_FILE: cannot read the file'])
  })
})
