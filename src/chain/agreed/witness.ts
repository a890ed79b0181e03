import type { Hex } from 'viem'
import { callByOverride, LENS_ADDRESS } from '../call/bundle/bundle.ts'
import { callDeployless } from '../call/deployless.ts'
import { questionOf } from '../receipt/record.ts'
import { type Endpoint, type EthCall, RevertError, RpcRefusedError } from '../rpc/client.ts'

/**
 * What another endpoint answers to a call. A lens is run there in the same way, else in the other one: endpoints
 * differ in what they can do, and a lens answers the same in both. Throws as `Endpoint.call`.
 */
export async function answerAgain(endpoint: Endpoint, request: EthCall, signal: AbortSignal): Promise<Hex> {
  const question = questionOf(request)
  const isAnywhere = request.to === undefined || request.to === LENS_ADDRESS
  if (question === undefined || !isAnywhere) return await endpoint.call(request, signal)
  const { runtime, data, way } = question
  const { block, gas } = request
  const asked = { runtime, data, block, ...(gas === undefined ? {} : { gas }) }
  const [first, second] = way === 'override' ? [callByOverride, callDeployless] : [callDeployless, callByOverride]
  try {
    return await first(endpoint, asked, signal)
  } catch (error) {
    const isSilent = error instanceof RevertError && error.data === '0x'
    if (!isSilent && !(error instanceof RpcRefusedError)) throw error
    return await second(endpoint, asked, signal)
  }
}
