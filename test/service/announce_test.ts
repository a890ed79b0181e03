import { expect, test } from 'bun:test'
import { silentLog } from '../../src/lib/log.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { logListening } from '../../src/service/serve/announce.ts'

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
