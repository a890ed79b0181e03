// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {Prices, PriceSources} from '../../price/prices.sol';
import {Tokens} from '../tokens.sol';

interface IBalance {
    function balanceOf(address) external view;
}

/// Reads what one wallet has of a chain's native token and of many others in one `eth_call`. It is never deployed: its
/// code stands at an address for the length of one call, or runs as the creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it. It is the header of `page.sol`, where
/// taken counts tokens, then u256 the native balance and, if that is not zero, its price, then records of those tokens
/// alone that are not zero, in the order of the question:
///
///   1 held    u16 index, u256 balance, the token, its price
///   2 silent  u16 index: there is code, but `balanceOf` does not answer
///
/// Tokens are as in `tokens.sol`, prices as in `prices.sol`. A page ends early, and says so by `taken`, before gas could
/// run out inside a call or the answer grow too long.
contract Lens is Tokens, Prices {
    /// Tokens behind a proxy that rebase take some 60,000.
    uint256 private constant BALANCE_GAS = 150_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 250_000;
    uint256 private constant ANSWER_BYTES_MAX = 1_000_000;

    /// `tokens` are addresses one after the other, 20 bytes each.
    function read(address wallet, bytes calldata tokens, PriceSources calldata prices) external view {
        Page memory page;
        page.question = reserve(64);
        page.answer = reserve(352);
        begin(page);
        uint256 priceGas = priceGasMax(prices);
        put(page, wallet.balance, 32);
        if (wallet.balance != 0) {
            beforeCall(page, priceGas);
            page.cursor = writePrice(prices, address(0), page.cursor);
        }
        page.checkpoint = page.cursor;
        argument(page, 0, uint160(wallet));
        uint256 count = tokens.length / 20;
        for (uint256 i = 0; i < count; i++) {
            address token = address(bytes20(tokens[i * 20:]));
            (bool ok, uint256 size) = askFor(page, token, IBalance.balanceOf.selector, 36, BALANCE_GAS, 32);
            if (!ok || size < 32) {
                if (token.code.length != 0) silent(page, i);
            } else if (word(page.answer) != 0) {
                beforeCall(page, TOKEN_GAS_MAX + priceGas);
                if (page.cursor - page.start > ANSWER_BYTES_MAX) finish(page);
                put(page, 1, 1);
                put(page, i, 2);
                put(page, word(page.answer), 32);
                describe(page, token);
                page.cursor = writePrice(prices, token, page.cursor);
            }
            page.checkpoint = page.cursor;
            page.taken = i + 1;
        }
        finish(page);
    }

    function silent(Page memory page, uint256 index) private pure {
        put(page, 2, 1);
        put(page, index, 2);
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
