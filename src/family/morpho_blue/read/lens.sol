// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {BlockHeight} from '../../../chain/call/block_height.sol';
import {Prices, PriceSources} from '../../../finance/price/prices.sol';

struct MarketParams {
    address loanToken;
    address collateralToken;
    address oracle;
    address irm;
    uint256 lltv;
}

struct Market {
    uint128 totalSupplyAssets;
    uint128 totalSupplyShares;
    uint128 totalBorrowAssets;
    uint128 totalBorrowShares;
    uint128 lastUpdate;
    uint128 fee;
}

struct Position {
    uint256 supplyShares;
    uint128 borrowShares;
    uint128 collateral;
}

interface IMorpho {
    function idToMarketParams(bytes32) external view returns (MarketParams memory);
    function market(bytes32) external view returns (Market memory);
    function position(bytes32, address) external view returns (Position memory);
    function feeRecipient() external view returns (address);
    function accrueInterest(MarketParams memory) external;
}

interface IIrm {
    function borrowRateView(MarketParams memory, Market memory) external view returns (uint256);
}

interface IOracle {
    function price() external view returns (uint256);
}

interface IToken {
    function decimals() external view returns (uint256);
}

/// Reads one wallet's position in one market of Morpho Blue, and all that its figures depend on, in one `eth_call`. It
/// is never deployed: its code stands at an address for the length of one call, or runs as the creation code of one.
///
/// The market is read as it is stored, and again after the contract itself has accrued its interest, which the end of
/// the call undoes. Whatever is not Morpho's has a gas cap, and of its answer only the first words are copied, so that
/// an oracle or a token can say nothing worse than nothing. The answer is the struct `Reading`: a row of words.
contract Lens is BlockHeight, Prices {
    uint256 private constant MORPHO_GAS = 300_000;
    uint256 private constant ACCRUE_GAS = 1_500_000;
    uint256 private constant IRM_GAS = 1_000_000;
    /// Vaults that are priced through several feeds have taken a third of this.
    uint256 private constant ORACLE_GAS = 3_000_000;
    uint256 private constant TOKEN_GAS = 100_000;

    struct Optional {
        bool known;
        uint256 value;
    }

    struct Round {
        bool known;
        int256 answer;
        uint256 updatedAt;
        uint256 decimals;
    }

    struct Reading {
        uint256 chainId;
        uint256 blockNumber;
        uint256 timestamp;
        bytes32 parentHash;
        /// False where there is no Morpho; then, and where there is no such market, the rest is empty.
        bool answers;
        MarketParams params;
        Market market;
        Position position;
        address feeRecipient;
        /// Average over the time since the last accrual, per second, 18 decimals.
        Optional averageRate;
        /// Whether the contract could accrue; what follows up to `endRate` is from after that.
        bool accrued;
        Market accruedMarket;
        Position accruedPosition;
        Optional endRate;
        Optional oraclePrice;
        Optional loanDecimals;
        /// Of the loan token's feed, where it has one.
        Round round;
        /// Of the loan token at Aave's oracle, where the chain has one; a price only where there is a source.
        address aaveSource;
        Optional aavePrice;
    }

    function read(
        address morpho,
        bytes32 id,
        address wallet,
        PriceSources calldata prices
    ) external returns (Reading memory reading) {
        reading.chainId = block.chainid;
        reading.timestamp = block.timestamp;
        (reading.blockNumber, reading.parentHash) = height();
        if (!readStored(reading, morpho, id, wallet) || reading.market.lastUpdate == 0) return reading;
        MarketParams memory params = reading.params;
        if (params.irm != address(0)) {
            reading.averageRate = rate(params, reading.market);
            try IMorpho(morpho).accrueInterest{gas: ACCRUE_GAS}(params) {
                reading.accrued = true;
                reading.accruedMarket = IMorpho(morpho).market(id);
                reading.accruedPosition = IMorpho(morpho).position(id, wallet);
                reading.endRate = rate(params, reading.accruedMarket);
            } catch {}
        }
        reading.oraclePrice = number(params.oracle, ORACLE_GAS, abi.encodeCall(IOracle.price, ()));
        readUsd(reading, params.loanToken, prices);
    }

    function readStored(
        Reading memory reading,
        address morpho,
        bytes32 id,
        address wallet
    ) private view returns (bool) {
        bytes memory answer;
        (reading.answers, answer) = ask(morpho, MORPHO_GAS, 160, abi.encodeCall(IMorpho.idToMarketParams, (id)));
        if (!reading.answers) return false;
        reading.params = abi.decode(answer, (MarketParams));
        reading.market = IMorpho(morpho).market(id);
        reading.position = IMorpho(morpho).position(id, wallet);
        reading.feeRecipient = IMorpho(morpho).feeRecipient();
        return true;
    }

    function readUsd(
        Reading memory reading,
        address token,
        PriceSources calldata prices
    ) private view {
        reading.loanDecimals = number(token, TOKEN_GAS, abi.encodeCall(IToken.decimals, ()));
        uint256 scratch = reserve(160);
        address feed = feedOf(prices, token);
        if (feed != address(0)) {
            (bool ok, uint256 answer, uint256 updatedAt, uint256 decimals) = latestRound(feed, scratch);
            reading.round = Round(ok, int256(answer), updatedAt, decimals);
        }
        (reading.aaveSource, reading.aavePrice.known, reading.aavePrice.value) = aavePrice(
            prices.aaveOracle,
            token,
            scratch
        );
    }

    function reserve(uint256 size) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := mload(0x40)
            mstore(0x40, add(place, size))
        }
    }

    function rate(MarketParams memory params, Market memory market) private view returns (Optional memory) {
        return number(params.irm, IRM_GAS, abi.encodeCall(IIrm.borrowRateView, (params, market)));
    }

    function number(
        address target,
        uint256 gasMax,
        bytes memory question
    ) private view returns (Optional memory value) {
        (bool ok, bytes memory answer) = ask(target, gasMax, 32, question);
        if (ok) value = Optional(true, abi.decode(answer, (uint256)));
    }

    /// A call with a gas cap: true if it answered, with at least `size` bytes; no more of them are copied.
    function ask(
        address target,
        uint256 gasMax,
        uint256 size,
        bytes memory question
    ) private view returns (bool ok, bytes memory answer) {
        answer = new bytes(size);
        assembly ("memory-safe") {
            ok := staticcall(gasMax, target, add(question, 32), mload(question), add(answer, 32), size)
            ok := and(ok, iszero(lt(returndatasize(), size)))
        }
    }
}
