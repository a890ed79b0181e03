// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../../../finance/price/prices.sol';
import {Tokens} from '../../../finance/token/tokens.sol';

interface IComet {
    function totalsBasic() external view;
    function userBasic(address) external view;
    function userCollateral(address, address) external view;
    function getAssetInfo(uint8) external view;
    function getPrice(address) external view;
    function getUtilization() external view;
    function getSupplyRate(uint256) external view;
    function getBorrowRate(uint256) external view;
    function baseToken() external view;
    function baseTokenPriceFeed() external view;
    function baseScale() external view;
    function baseTrackingSupplySpeed() external view;
    function baseTrackingBorrowSpeed() external view;
    function trackingIndexScale() external view;
    function baseMinForRewards() external view;
}

interface IRewards {
    function rewardConfig(address) external view;
    function rewardsClaimed(address, address) external view;
}

interface IBalance {
    function balanceOf(address) external view;
}

/// Reads what wallets have in markets of Compound V3 as it is stored, and all that its figures depend on, in one
/// `eth_call`. It is never deployed: its code stands at an address for the length of one call, or runs as the creation
/// code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header        as in `page.sol`
///   1 market      u8 market, the first seven words of `totalsBasic` as u64 four indices, u128 total supply and total
///                 borrow, u64 last accrual, then u8 pause flags; u128 scale of the base token, u64 supply rate, u64 borrow
///                 rate, u128 supply speed, u128 borrow speed, u128 scale of the tracking index, u128 least total for
///                 rewards; optional price of the base token, u256 its balance; the token and its price; u8 0 if it has no
///                 rewards, 2 if they do not answer, 1, u64 factor, u8 1 if it multiplies, u256 multiplier, u256 balance of
///                 the reward, the token and its price
///   2 collateral  u8 market, u8 index, optional price, u64 scale, u64 borrow factor, u64 liquidation factor, the token and
///                 its price
///   3 account     u32 wallet, u8 market, i256 principal, u64 tracking index, u64 accrued, optional u256 claimed, u8 number
///                 of collaterals, then for each u8 index, u128 balance
///   4 silent      u8 market: it does not answer
///   optional      u8 1 if it is known, u256; tokens as in `tokens.sol`, their prices as in `prices.sol`
///
/// Markets and collaterals are written before the first account that needs them; a wallet of which a market stores
/// nothing has no account there. A page ends early, and says so by `taken`, before gas could run out inside a call or the
/// answer grow too long.
contract Lens is LensPage, Tokens, Prices {
    uint256 private constant FEED_GAS = 1_500_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 150_000;
    /// A list of assets has at most this many.
    uint256 private constant ASSETS_MAX = 24;

    struct Market {
        address at;
        address rewards;
        uint256 index;
        bool written;
        bool silent;
        /// The collaterals that are written, a word each.
        uint256 assets;
    }

    /// What each wallet has in each market; `rewards` has the contract of each market, zero if there is none.
    function read(
        address[] calldata at,
        address[] calldata rewards,
        address[] calldata wallets,
        uint256 bytesMax,
        PriceSources calldata prices
    ) external view {
        Page memory page;
        page.question = reserve(128);
        page.answer = reserve(352);
        Market[] memory markets = new Market[](at.length);
        for (uint256 i = 0; i < at.length; i++) {
            markets[i].at = at[i];
            markets[i].rewards = rewards[i];
            markets[i].index = i;
            markets[i].assets = reserve(ASSETS_MAX * 32);
            for (uint256 a = 0; a < ASSETS_MAX; a++) set(markets[i].assets + a * 32, 0);
        }
        begin(page);
        page.checkpoint = page.cursor;
        for (uint256 w = 0; w < wallets.length; w++) {
            for (uint256 i = 0; i < markets.length; i++) {
                if (markets[i].silent) continue;
                uint256 start = page.cursor;
                if (account(page, markets[i], w, wallets[w], prices)) continue;
                page.cursor = start;
                markets[i].silent = true;
                put(page, 4, 1);
                put(page, i, 1);
            }
            if (page.cursor - page.start > bytesMax) finish(page);
            page.checkpoint = page.cursor;
            page.taken = w + 1;
        }
        finish(page);
    }

    /// Records of one wallet in one market: nothing if nothing is stored; false if the market does not answer.
    function account(
        Page memory page,
        Market memory market,
        uint256 w,
        address wallet,
        PriceSources calldata prices
    ) private view returns (bool) {
        if (!ask1(page, market.at, IComet.userBasic.selector, uint160(wallet), 160)) return false;
        uint256 principal = word(page.answer);
        uint256 tracked = word(page.answer + 32);
        uint256 accrued = word(page.answer + 64);
        // A longer list of assets has its upper bits in what is reserved elsewhere.
        uint256 held = uint16(word(page.answer + 96)) | (uint256(uint8(word(page.answer + 128))) << 16);
        if (principal == 0 && accrued == 0 && held == 0) return true;
        if (!market.written && !writeMarket(page, market, prices)) return false;
        uint256 count = 0;
        for (uint256 i = 0; i < ASSETS_MAX; i++) {
            if (held & (1 << i) == 0) continue;
            count++;
            if (word(market.assets + i * 32) == 0 && !writeCollateral(page, market, i, prices)) return false;
        }
        put(page, 3, 1);
        put(page, w, 4);
        put(page, market.index, 1);
        put(page, principal, 32);
        put(page, tracked, 8);
        put(page, accrued, 8);
        bool ok = askPair(page, market.rewards, IRewards.rewardsClaimed.selector, market.at, wallet, 32);
        optional(page, ok && market.rewards != address(0));
        put(page, count, 1);
        for (uint256 i = 0; i < ASSETS_MAX; i++) {
            if (held & (1 << i) == 0) continue;
            address token = address(uint160(word(market.assets + i * 32)));
            if (!askPair(page, market.at, IComet.userCollateral.selector, wallet, token, 64)) return false;
            put(page, i, 1);
            put(page, word(page.answer), 16);
        }
        return true;
    }

    function writeMarket(Page memory page, Market memory market, PriceSources calldata prices) private view returns (bool) {
        address at = market.at;
        put(page, 1, 1);
        put(page, market.index, 1);
        if (!ask(page, at, IComet.totalsBasic.selector, 256)) return false;
        for (uint256 i = 0; i < 8; i++) put(page, word(page.answer + i * 32), i == 7 ? 1 : i == 4 || i == 5 ? 16 : 8);
        if (!number(page, at, IComet.baseScale.selector, 16)) return false;
        if (!ask(page, at, IComet.getUtilization.selector, 32)) return false;
        uint256 utilization = word(page.answer);
        if (!ask1(page, at, IComet.getSupplyRate.selector, utilization, 32)) return false;
        put(page, word(page.answer), 8);
        if (!ask1(page, at, IComet.getBorrowRate.selector, utilization, 32)) return false;
        put(page, word(page.answer), 8);
        if (!number(page, at, IComet.baseTrackingSupplySpeed.selector, 16)) return false;
        if (!number(page, at, IComet.baseTrackingBorrowSpeed.selector, 16)) return false;
        if (!number(page, at, IComet.trackingIndexScale.selector, 16)) return false;
        if (!number(page, at, IComet.baseMinForRewards.selector, 16)) return false;
        if (!ask(page, at, IComet.baseTokenPriceFeed.selector, 32)) return false;
        writeFeed(page, at, word(page.answer));
        if (!ask(page, at, IComet.baseToken.selector, 32)) return false;
        address token = address(uint160(word(page.answer)));
        if (!ask1(page, token, IBalance.balanceOf.selector, uint160(at), 32)) return false;
        put(page, word(page.answer), 32);
        writeToken(page, token, prices);
        writeRewards(page, market, prices);
        market.written = true;
        return true;
    }

    function writeRewards(Page memory page, Market memory market, PriceSources calldata prices) private view {
        address rewards = market.rewards;
        if (rewards == address(0)) return put(page, 0, 1);
        argument(page, 0, uint160(market.at));
        (bool ok, uint256 size) = askFor(page, rewards, IRewards.rewardConfig.selector, 36, CONTRACT_GAS, 128);
        if (!ok || size < 96) return put(page, 2, 1);
        address token = address(uint160(word(page.answer)));
        if (token == address(0)) return put(page, 0, 1);
        uint256 factor = word(page.answer + 32);
        uint256 up = word(page.answer + 64);
        // Older contracts have no multiplier.
        uint256 multiplier = size < 128 ? 1e18 : word(page.answer + 96);
        if (!ask1(page, token, IBalance.balanceOf.selector, uint160(rewards), 32)) return put(page, 2, 1);
        put(page, 1, 1);
        put(page, factor, 8);
        put(page, up, 1);
        put(page, multiplier, 32);
        put(page, word(page.answer), 32);
        writeToken(page, token, prices);
    }

    function writeCollateral(
        Page memory page,
        Market memory market,
        uint256 i,
        PriceSources calldata prices
    ) private view returns (bool) {
        if (!ask1(page, market.at, IComet.getAssetInfo.selector, i, 256)) return false;
        uint256 token = word(page.answer + 32);
        uint256 feed = word(page.answer + 64);
        uint256 scale = word(page.answer + 96);
        uint256 borrowFactor = word(page.answer + 128);
        uint256 liquidateFactor = word(page.answer + 160);
        put(page, 2, 1);
        put(page, market.index, 1);
        put(page, i, 1);
        writeFeed(page, market.at, feed);
        put(page, scale, 8);
        put(page, borrowFactor, 8);
        put(page, liquidateFactor, 8);
        writeToken(page, address(uint160(token)), prices);
        set(market.assets + i * 32, token);
        return true;
    }

    /// The price by the market itself, which refuses one that is not above zero.
    function writeFeed(Page memory page, address at, uint256 feed) private view {
        argument(page, 0, feed);
        (bool ok, uint256 size) = askFor(page, at, IComet.getPrice.selector, 36, FEED_GAS, 32);
        optional(page, ok && size >= 32);
    }

    function writeToken(Page memory page, address token, PriceSources calldata prices) private view {
        describe(page, token);
        beforeCall(page, priceGasMax(prices));
        page.cursor = writePrice(prices, token, page.cursor);
    }

    /// Appends the answer of a call without arguments.
    function number(Page memory page, address at, bytes4 selector, uint256 size) private view returns (bool ok) {
        ok = ask(page, at, selector, 32);
        put(page, word(page.answer), size);
    }

    function askPair(
        Page memory page,
        address target,
        bytes4 selector,
        address a,
        address b,
        uint256 sizeMin
    ) private view returns (bool) {
        argument(page, 0, uint160(a));
        argument(page, 1, uint160(b));
        (bool ok, uint256 size) = askFor(page, target, selector, 68, CONTRACT_GAS, sizeMin);
        return ok && size >= sizeMin;
    }

    function optional(Page memory page, bool known) private pure {
        put(page, known ? 1 : 0, 1);
        put(page, known ? word(page.answer) : 0, 32);
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
