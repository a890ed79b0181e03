// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../../../finance/price/prices.sol';
import {Tokens} from '../../../finance/token/tokens.sol';

interface IPair {
    function balanceOf(address) external view;
    function factory() external view;
    function token0() external view;
    function token1() external view;
    function totalSupply() external view;
    function kLast() external view;
    function getReserves() external view;
}

interface IFactory {
    function getPair(address, address) external view;
    function feeTo() external view;
}

/// Reads what a wallet has in pairs of Uniswap V2, in one `eth_call`. It is never deployed: its code stands at an address
/// for the length of one call, or runs as the creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header    as in `page.sol`; `taken` counts tokens
///   1 pair    u16 token, u256 liquidity of the wallet, u256 total supply, u256 kLast, u8 1 if the factory takes a fee, u256
///             two reserves, u256 two balances of the pair; twice the token and its price
///
/// A token that no factory of the list calls its pair, or that does not answer, has no record. A page ends early, and says
/// so by `taken`, before gas could run out inside a call or the answer grow too long.
contract Lens is LensPage, Tokens, Prices {
    /// What is left over to end the page.
    uint256 private constant END_GAS = 150_000;

    struct Pair {
        address at;
        address factory;
        address token0;
        address token1;
        uint256 liquidity;
    }

    function read(
        address[] calldata factories,
        address[] calldata tokens,
        address wallet,
        uint256 bytesMax,
        PriceSources calldata prices
    ) external view {
        Page memory page;
        page.question = reserve(128);
        page.answer = reserve(352);
        Pair memory pair;
        begin(page);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < tokens.length; i++) {
            uint256 start = page.cursor;
            pair.at = tokens[i];
            if (!isPair(page, factories, pair, wallet) || !writePair(page, i, pair, prices)) page.cursor = start;
            if (page.cursor - page.start > bytesMax) finish(page);
            page.checkpoint = page.cursor;
            page.taken = i + 1;
        }
        finish(page);
    }

    /// True if the wallet has liquidity in it, and one of the factories made it.
    function isPair(
        Page memory page,
        address[] calldata factories,
        Pair memory pair,
        address wallet
    ) private view returns (bool) {
        if (pair.at.code.length == 0) return false;
        if (!ask1(page, pair.at, IPair.balanceOf.selector, uint160(wallet), 32)) return false;
        pair.liquidity = word(page.answer);
        if (pair.liquidity == 0 || !ask(page, pair.at, IPair.factory.selector, 32)) return false;
        pair.factory = address(uint160(word(page.answer)));
        bool isListed = false;
        for (uint256 i = 0; i < factories.length; i++) isListed = isListed || factories[i] == pair.factory;
        if (!isListed || !ask(page, pair.at, IPair.token0.selector, 32)) return false;
        pair.token0 = address(uint160(word(page.answer)));
        if (!ask(page, pair.at, IPair.token1.selector, 32)) return false;
        pair.token1 = address(uint160(word(page.answer)));
        argument(page, 0, uint160(pair.token0));
        argument(page, 1, uint160(pair.token1));
        (bool ok, uint256 size) = askFor(page, pair.factory, IFactory.getPair.selector, 68, CONTRACT_GAS, 32);
        return ok && size >= 32 && address(uint160(word(page.answer))) == pair.at;
    }

    function writePair(
        Page memory page,
        uint256 index,
        Pair memory pair,
        PriceSources calldata prices
    ) private view returns (bool) {
        put(page, 1, 1);
        put(page, index, 2);
        put(page, pair.liquidity, 32);
        if (!ask(page, pair.at, IPair.totalSupply.selector, 32)) return false;
        put(page, word(page.answer), 32);
        if (!ask(page, pair.at, IPair.kLast.selector, 32)) return false;
        put(page, word(page.answer), 32);
        if (!ask(page, pair.factory, IFactory.feeTo.selector, 32)) return false;
        put(page, word(page.answer) == 0 ? 0 : 1, 1);
        if (!ask(page, pair.at, IPair.getReserves.selector, 64)) return false;
        put(page, word(page.answer), 32);
        put(page, word(page.answer + 32), 32);
        if (!ask1(page, pair.token0, IPair.balanceOf.selector, uint160(pair.at), 32)) return false;
        put(page, word(page.answer), 32);
        if (!ask1(page, pair.token1, IPair.balanceOf.selector, uint160(pair.at), 32)) return false;
        put(page, word(page.answer), 32);
        writeToken(page, pair.token0, prices);
        writeToken(page, pair.token1, prices);
        return true;
    }

    function writeToken(Page memory page, address token, PriceSources calldata prices) private view {
        describe(page, token);
        beforeCall(page, priceGasMax(prices));
        page.cursor = writePrice(prices, token, page.cursor);
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
