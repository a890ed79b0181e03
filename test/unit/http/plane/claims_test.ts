import { expect, test } from 'bun:test'
import { type ChangeClaims, changeOnce } from '../../../../src/http/plane/plane.ts'
import { CodedError, UnavailableError } from '../../../../src/lib/error.ts'

const CLAIM = { organizationId: 'o', key: 'k', hash: 'h', settlementId: 's' }

/** One key in memory. */
function createClaims(): ChangeClaims & { state: 'free' | 'busy' | 'answered' } {
  return {
    state: 'free',
    async claim() {
      if (this.state === 'busy') return { kind: 'busy' }
      if (this.state === 'answered') return { kind: 'answered', kept: undefined }
      this.state = 'busy'
      return { kind: 'claimed' }
    },
    async finish() {
      this.state = 'answered'
    },
    async release() {
      this.state = 'free'
    },
  }
}

const run = (claims: ChangeClaims, change: () => Promise<string>) => changeOnce(claims, CLAIM, change)

test('a change of one key is made once, and a repetition is told that it was', async () => {
  const claims = createClaims()
  let made = 0
  const change = async () => `made ${++made}`
  expect(await run(claims, change)).toBe('made 1')
  await expect(run(claims, change)).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining('carried out'),
  })
  expect(made).toBe(1)
})

test('a refused change frees its key; one that may have been made keeps it', async () => {
  const claims = createClaims()
  const fail = (error: Error) => run(claims, () => Promise.reject(error))
  await expect(fail(new CodedError('INVALID_PARAMETER', 'no'))).rejects.toThrow('no')
  expect(claims.state).toBe('free')
  await expect(fail(new UnavailableError('late'))).rejects.toThrow('late')
  await expect(run(claims, async () => 'twice')).rejects.toMatchObject({ status: 409 })
})
