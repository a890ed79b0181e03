import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/config/config.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { logListening } from '../../../src/service/serve/serve.ts'

test.each([
  ['1,137,101', {}, [1, 137, 101]],
  ['1', {}, [1]],
  ['1', { SOLANA_RPC_URL: 'https://solana.example' }, [1, 101]],
])('announce() logs the chains of CHAINS=%s, Solana if it is served', (CHAINS, further, chains) => {
  const logged: unknown[] = []
  const log = { ...silentLog, info: (fields: object) => void logged.push(fields) }
  const config = readConfig({ CHAINS, ...further }, () => '')
  logListening(config, { port: 1_234, operatorPort: undefined }, { log, out: () => undefined })
  expect(logged).toEqual([expect.objectContaining({ msg: 'Listening', port: 1_234, chains })])
})

test('logListening() warns of variables that were probably meant, without their values', () => {
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) }
  const config = readConfig({ CHAINS: '1', PROT: '9', RPC_URL: 'https://s3cr3t.example' }, () => '')
  logListening(config, { port: 1_234, operatorPort: undefined }, { log, out: () => undefined })
  expect(warnings).toEqual([
    { msg: 'The variable PROT is not read: did you mean PORT?' },
    { msg: 'The variable RPC_URL is not read: did you mean RPC_URL_<chain id>?' },
  ])
})

test('logListening() warns of what a row of CHAINS_FILE leaves out', () => {
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) }
  const row = { id: 1, morphoBlue: { morpho: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6' } }
  const config = readConfig({ CHAINS: '1', CHAINS_FILE: 'f' }, () => JSON.stringify({ chains: [row] }))
  logListening(config, { port: 1_234, operatorPort: undefined }, { log, out: () => undefined })
  expect(warnings).toEqual([
    expect.objectContaining({
      chainId: 1,
      omitted: ['debts in morpho-blue at 0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb'],
    }),
  ])
})
