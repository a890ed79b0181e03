import { expect, test } from 'bun:test'
import { hash } from 'node:crypto'
import { version } from '../../../package.json'
import { MIGRATIONS } from '../../../sql/files.ts'

/**
 * SHA-256 of the migrations that each release brought. Databases record it: one with another text is refused by
 * every later release, so a row here never changes, and a new migration comes under a new release.
 */
const LANDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '0.1.0': {
    '0001_account': 'e5f7be322649b9c8e8a35377ceea9e9cc9404d389fe9082437868b2e47fcd45e',
    '0002_request_log': '58a63f100ab237e88a85090a15d916b1a55c0b28ca05d87b152c26076f64de8d',
    '0003_gate': '84c3e8cba55dc1f584c84d036087d0f9c57f546e49db59d7764b454dff513996',
    '0004_operator': 'e53ae7aeedcbf85a5cd630998f5917788a8361ec3812ee239203f0e57a924890',
    '0005_job': 'a6244aa7754723e13c07e950bd0fe0b5a5312d4837a204270e9b2a89f9235061',
    '0006_history': '27877c4ce9555e84863b9a7e7b36a409a1869958027260973726810c8b5fffa7',
    '0007_price': 'f6657ed05a90252415bda452e0fc6ec8cac99b9b19135337514c55498bb1c84c',
    '0008_lending': 'c3375d54788557b5fffc86fd0ae01e76f3c6bf9dcd96fad2eccdf03deb85c3e5',
    '0009_liquidity': '96341d39494c82f461f801deea0252ba710184f529d6b86df6fb839e0ce6c499',
    '0010_portfolio': '000a46c292030b0c205087c60a090a701ba0e42a67eaacaaa09dcf3658b56e3b',
    '0011_market_entry': '1f44fdda89816efbdf8db8885b4d49dbc7ed5170fd1927f9d2c06ccf5499ccfb',
    '0012_wallet_entry': 'daaf7aae415915de8051ac465bbcfedebefe22b4b690973b394d46bc499aa331',
    '0013_liquidity_change': '84ca1f3aa873a832e7f586bcb5531e862ea146ee329dc9da9b07a7683015f621',
    '0014_instance_key': 'c9d9fedaeb12401dc4edc2fa791fbaac998947bd90719d8eb4aa59ac49b84cc4',
    '0015_midnight_row': 'dcd89d36a0a3bf558d995218f71c5f51447e8c0624d64c2e59135774c724bf8a',
    '0016_watch': 'ed5cbcfacb49e84623abfa2d9f821badef15f46d7eadaa2b64e42b37576d0aa4',
    '0017_idempotency': '5194ec80a38a06e14eecdae2abccc889e705c39c2fd4584608e4d5367e4f7d15',
    '0018_delivery': '1224e066d606040b1c1cc01adbd9b6326f21869a1e2cb6e593933a048ee6e16d',
    '0019_dead_letter': 'd20790a904a1c1f0091a9619d81b2a57fa7dfef3e7bf24b1b7668d2176e56372',
    '0020_snapshot_gaps': '7eaf259964c522c7d441b15932d122c7f6eea09984cf8ce4e151e9d7d8829164',
  },
  '0.2.0': {
    '0021_trigger_sight': 'f63e215bd9255c210af2f0a28e7d178d9eef969281c8add1c5479d730e0b4e84',
    '0022_trigger_meter': '23109ab138c0307f490182124efe74f36fc4f9dd5b879cced16db8b080745807',
  },
  '0.3.0': {
    '0023_first_block': '0b6b259e968a1c67962a40d7fb40e9b7fc603d5b3df82619b0b14e416ce13011',
  },
  '0.4.0': {
    '0024_price_time': 'f20014dea20a39a50f5d3a95e0d776ccd0aa6b6e692931c72fac87704103efa4',
  },
  '0.6.0': {
    '0025_audit_account': '55fbec874417c8def88ff79aef029fde8c9f2cc33c1278d120826f7d898be133',
  },
  '0.7.0': {
    '0026_trigger_price': 'cf2115a67efe768ac546c59ccdac0dbd0ee393cae4a0e92c12daf0e876acb07b',
  },
  '0.8.0': {
    '0027_custody_event': '63a7fce854b972fe7eb46a7bb312799e89886e4c4ed5aad9406619e3c3c5f5d5',
    '0028_vault_flow': '7d07521fcd1dd975f275f78c4ee4743f10c9f161ed31c446f917f5787639f98b',
  },
}

test('a migration of a release keeps its text, and every migration belongs to a release', () => {
  const landed = Object.values(LANDED).flatMap((release) => Object.entries(release))
  expect(landed).toEqual(MIGRATIONS.map(({ name, text }) => [name, hash('sha256', text)]))
})

test('the version of the program is that of its newest schema, or later', () => {
  const newest = Object.keys(LANDED).at(-1) ?? ''
  expect(Bun.semver.order(version, newest)).toBeGreaterThanOrEqual(0)
  expect(Object.keys(LANDED).toSorted(Bun.semver.order)).toEqual(Object.keys(LANDED))
})
